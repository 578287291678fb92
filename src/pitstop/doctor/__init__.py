"""A checkpoint of Spark Structured Streaming, read as files: its content, its health, and the changes that it allows.

Nothing here writes, starts Spark or needs a server. Names are relative to the checkpoint's folder.
"""
