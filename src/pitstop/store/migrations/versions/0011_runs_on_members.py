"""Runs that members start and end for the control plane, and the end of all control planes"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "assignments",
        sa.Column("job_id", sa.String(19), primary_key=True),
        sa.Column("token", WHOLE, primary_key=True, autoincrement=False),
        sa.Column("member_id", sa.String(36), nullable=False, index=True),
        sa.Column("job_name", sa.String(200)),
        sa.Column("state", sa.String(10), nullable=False),
    )
    op.create_table(
        "kills",
        sa.Column("handle", sa.Text(), primary_key=True),
        sa.Column("asked", sa.Float(), nullable=False),
    )
    op.add_column("leadership", sa.Column("ends", WHOLE, nullable=False, server_default="0"))


def downgrade() -> None:
    op.drop_column("leadership", "ends")
    op.drop_table("kills")
    op.drop_table("assignments")
