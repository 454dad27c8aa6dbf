"""Days on which several agents and a user work in one worktree at the same time.

`scripts` are what happens on such a day, `generator` makes them up, `agents` is what agents send to
the hooks, `world` carries a script out in a real repository, and `truth` is what has to be left
when turns are taken back: the same script without them.
"""
