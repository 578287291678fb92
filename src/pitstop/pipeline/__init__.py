"""The language of users: pipelines of named stages, sources, sinks, windows and aggregates.

Law: pure values. Nothing here starts Spark or reads data; a definition only registers. Column
expressions and DataFrame functions are kept as they are given and used by the engine alone.
"""
