"""The order of map entries, by which the newest of a key wins"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    for table in ("map_entries", "map_undo"):
        op.add_column(table, sa.Column("ordering", sa.Text()))


def downgrade() -> None:
    for table in ("map_undo", "map_entries"):
        op.drop_column(table, "ordering")
