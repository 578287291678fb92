"""What clients ask of PostgreSQL itself: its catalogue, as tables in memory of an engine that can do nothing else.

A client's query is read into a tree, the tree is written anew as a query of SQLite, node by node (``writing``), and SQLite, which
may only read these tables here (``engine``), computes the rows. No text of a client is ever run as code.
"""
