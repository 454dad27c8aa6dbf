"""The command line: one module a command; each parses, calls one service and prints.

`entry` turns errors into exit codes and serves what can do without click (`hook`, and `checkpoint`
spelt plainly); `framework` is the table of commands, and click taught to speak as git does;
`output` is text, colours, hints, pager and JSON. Start reading in `entry`, then in the command.
"""
