"""The services over standard input and output, for hosts that keep one process running."""
