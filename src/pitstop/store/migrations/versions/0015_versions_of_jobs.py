"""The versions that jobs have and had"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "job_versions",
        sa.Column("job_id", sa.String(19), primary_key=True),
        sa.Column("number", WHOLE, primary_key=True, autoincrement=False),
        sa.Column("since", sa.Float(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("job_versions")
