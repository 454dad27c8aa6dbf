"""A server on standard input and output: JSON-RPC 2.0, one message a line, which is also MCP.

Editors and agents call the same tools, with the answers that `--json` prints. `connection` reads
and writes lines, `json_rpc` knows its messages, `session` the Model Context Protocol, and `lanes`
decides when a call runs. `tool_list` lists the tools, and `handlers` calls the services for them.
"""
