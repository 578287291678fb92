"""The command ``pitstop``: the client's commands (``cli``), and those that start the other processes.

Law: the only package that knows all roots. Each command imports its root when it runs, so that all others start at once.
"""
