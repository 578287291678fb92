"""The relational store: jobs, operations, facts, snapshots, maps and journals, through SQLAlchemy Core.

Law: implements the ports of control and maps; decides nothing. What a database does in its own way is in ``dialects``: now
SQLite.
"""
