"""The history of each job's states"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "state_changes",
        sa.Column("job_id", sa.String(19), primary_key=True),
        sa.Column("sequence", WHOLE, primary_key=True, autoincrement=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("state_changes")
