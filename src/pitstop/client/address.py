"""The address of a server that nobody has named."""

DEFAULT_URL = "http://127.0.0.1:8701"
