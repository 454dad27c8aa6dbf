"""The services over standard input and output, for hosts with a long-running process."""
