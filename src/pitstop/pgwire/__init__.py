"""The PostgreSQL protocol as a door: psql, psycopg and JDBC carry out the statements of docs/sql.md.

It is a client of the server: what a user may do is what the server allows to the token that this process was given.
"""
