"""The old values of entries that were written by a version from which the job may go back"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("withdrawable", sa.Integer()))
    op.create_table(
        "map_undo",
        sa.Column("operation", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("map_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("key", sa.Text(), primary_key=True),
        sa.Column("value", sa.Text()),
        sa.Column("created", sa.Float()),
        sa.Column("updated", sa.Float()),
        sa.Column("expires", sa.Float()),
        sa.Column("version", sa.Integer()),
        sa.Column("left_updated", sa.Float()),
        sa.Column("left_version", sa.Integer()),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("map_undo")
    op.drop_column("jobs", "withdrawable")
