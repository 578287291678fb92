"""Engines for tests: in memory, with clocks that a test sets."""
