"""The machine that a process runs on: its folders and files, logs, sockets, Java, and the classes and jars made for it.

Law: whatever is here knows no job. It imports errors and kit alone.
"""
