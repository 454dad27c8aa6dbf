import sys

# Without compiled files, every worker would rewrite the assertions of all tests again, and those of
# hypothesis, and every program that a test starts would be compiled again.
sys.dont_write_bytecode = False
