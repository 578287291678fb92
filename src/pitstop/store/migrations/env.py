"""Alembic runs inside the write transaction that the caller holds."""

from alembic import context

from pitstop.store.schema import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True, transactional_ddl=True)
context.run_migrations()
