"""Spark that hangs up: it closes the connection to a Python process without a word once it wants no more of it."""

HUNG_UP = (BrokenPipeError, ConnectionResetError)
"""The errors of a process that writes to a closed connection, or reads from it. Neither is a fault of the job."""
