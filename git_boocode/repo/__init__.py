"""The only place that runs git or touches pygit2.

`repository` finds the worktree, `config` reads its settings, `git` runs git in a clean environment,
and `messages` interprets its output. `store` reads objects and moves refs (`persistent` and
`libgit2` do so in a server's process), `metadata` reads the JSON in commits, `trees` writes trees,
`index` the user's staging area, `head` and `head_move` HEAD. `object_writer` and `gc` keep objects
safe. `lock`, `durable`, `files` and `process` handle locks, disk, paths and signals. Start reading
in `git`.
"""
