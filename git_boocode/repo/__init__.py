"""The only place that runs git or touches pygit2.

`repository` finds the worktree, `config` its settings, and `git` runs the program with nothing
inherited; `messages` is what it says. `store` reads and writes commits and refs (`libgit2` does so
in process), `metadata` the JSON in their messages, `object_writer` and `gc` keep objects safe,
`index` the user's staging area, `head` and `head_move` HEAD. `lock`, `durable`, `files` and
`process` are locks, disk, paths and signals. Start reading in `git`.
"""
