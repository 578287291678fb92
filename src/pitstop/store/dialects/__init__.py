"""What databases do each in their own way: one file a database, found by the scheme of its URL.

All other statements of the store are SQLAlchemy Core, or SQL that SQLite and PostgreSQL share (``ON CONFLICT``, ``RETURNING``).
"""
