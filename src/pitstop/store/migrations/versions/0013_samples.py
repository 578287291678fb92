"""Samples of jobs in each of the last seconds and minutes"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "samples",
        sa.Column("job_id", sa.String(19), primary_key=True),
        sa.Column("step", WHOLE, primary_key=True, autoincrement=False),
        sa.Column("at", WHOLE, primary_key=True, autoincrement=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("samples")
