"""A server on standard input and output: JSON-RPC 2.0, one message a line, which is also MCP.

Editors and agents call the same tools. `json_rpc` reads and writes the messages, `session` is the
Model Context Protocol, `peer` the client of a request, and `roots` are the worktrees that it may
use. `tools` lists the tools, `calls` decides when a call runs, and `handlers` calls the services.
"""
