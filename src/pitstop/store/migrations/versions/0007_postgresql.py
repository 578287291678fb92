"""On PostgreSQL, whole numbers have 64 bits and names the order of their code points, as both are on SQLite"""

from alembic import op

revision = "0007"
down_revision = "0006"

WHOLE = {
    "jobs": ("token", "withdrawable"),
    "leases": ("token",),
    "operations": ("id",),
    "commands": ("id", "token"),
    "observations": ("id", "token"),
    "snapshots": ("bytes", "epoch"),
    "maps": ("id", "journal_capacity", "newest", "stored"),
    "map_entries": ("map_id", "version"),
    "map_journal": ("map_id", "sequence"),
    "map_undo": ("operation", "map_id", "version", "left_version"),
    "sink_epochs": ("map_id", "epoch"),
}
COUNTED = ("operations", "commands", "observations", "maps")
"""Tables whose ids come from a sequence of the type of the old column."""
NAMES = (
    ("snapshots", "name", "varchar(200)"),
    ("maps", "name", "varchar(200)"),
    ("map_entries", "key", "text"),
    ("map_journal", "key", "text"),
    ("map_undo", "key", "text"),
)


def upgrade() -> None:
    _alter("bigint", 'COLLATE "C"')


def downgrade() -> None:
    _alter("integer", 'COLLATE "default"')


def _alter(whole: str, order: str) -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for table, columns in WHOLE.items():
        for column in columns:
            op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE {whole}")
    for table in COUNTED:
        op.execute(f"ALTER SEQUENCE {table}_id_seq AS {whole}")
    for table, column, kind in NAMES:
        op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE {kind} {order}")
