"""Helpers for tests of Pitstop and of products built on it: ports in memory, a clock moved by hand, processes as values.

The suites in tests/contract run against these and against the real implementations alike.
"""
