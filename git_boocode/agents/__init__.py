"""Agents and git call us by hooks: serve these, and install them.

`registry` is the one table of agents: payload fields, events, files, callback. Serving a hook
starts in `serve`: `event` reads the payload, `dedupe` finds a turn that was reported twice,
`transcript_position` how far the conversation goes. Installing starts in `install`: `config_files`
finds the files, `config_settings` changes JSON and TOML, of which `round_trip` keeps all else,
`config_program` files of our own, `config_server` lists of MCP servers, `file_edits` writes them,
all or none, and `baselines` keeps what they were. `git_hooks` and `git_install` are the same for
git's own hooks.
"""
