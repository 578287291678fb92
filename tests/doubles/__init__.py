"""Doubles for Pitstop's own tests: ports in memory, a clock moved by hand, processes as values.

The suites in tests/contract run against these and against the real implementations alike.
"""
