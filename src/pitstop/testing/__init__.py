"""For tests of Pitstop and of what is built on it: the ports in memory, time that stands still, processes that are values.

The suites in tests/contract run against these and against the real ones alike.
"""
