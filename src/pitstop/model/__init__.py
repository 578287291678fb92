"""The nouns: frozen dataclasses and enums that every layer shares.

Law: values only. No I/O, no clock, no Spark; to change something, make a new value.
"""
