"""Agents and git call us by hooks: serve these, and install them.

`registry` is the one table of agents: payload fields, events, files, callback. Serving a hook
starts in `hook_call`: `event` reads the payload, and `hook_state` finds a turn that was reported
twice. Installing starts in `install`: `config_files` finds the files and remembers what they were,
`config_settings` changes JSON and TOML, of which `round_trip` keeps all else, `config_program`
files of our own, `config_server` lists of MCP servers, and `file_edits` writes them, all or none.
`git_hooks` and `git_install` are the same for git's own hooks.
"""
