"""Members of a cluster"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "members",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("address", sa.String(260), nullable=False),
        sa.Column("version", sa.String(40), nullable=False),
        sa.Column("cores", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("joined", sa.Float(), nullable=False),
        sa.Column("seen", sa.Float(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("members")
