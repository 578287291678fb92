"""An index for expiry and a count of the entries of each map"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_index(
        "map_entries_by_expiry",
        "map_entries",
        ["map_id", "expires"],
        sqlite_where=sa.text("expires IS NOT NULL"),
        postgresql_where=sa.text("expires IS NOT NULL"),
    )
    op.add_column("maps", sa.Column("stored", sa.Integer(), nullable=False, server_default="0"))
    op.execute("UPDATE maps SET stored = (SELECT COUNT(*) FROM map_entries WHERE map_entries.map_id = maps.id)")


def downgrade() -> None:
    op.drop_column("maps", "stored")
    op.drop_index("map_entries_by_expiry", table_name="map_entries")
