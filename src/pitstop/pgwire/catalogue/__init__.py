"""The catalogue of PostgreSQL for clients, as tables in memory of an engine that can do nothing else.

A client's query is parsed into a tree. The tree is rewritten as a query of SQLite, node by node (``writing``). SQLite, which may
only read these tables (``engine``), computes the rows. No text of a client is ever run as code.
"""
