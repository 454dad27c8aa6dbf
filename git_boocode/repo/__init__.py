"""The only place that runs git or touches pygit2.

`repository` finds the worktree, `config` reads its settings, `git` runs git in a clean environment,
and `messages` interprets its output. `store` reads and writes commits and refs (`libgit2` does so
in process), `metadata` the JSON in their messages, `index` the user's staging area, `head` and
`head_move` HEAD. `object_writer` and `gc` keep objects safe. `lock`, `durable`, `files` and
`process` handle locks, disk, paths and signals. Start reading in `git`.
"""
