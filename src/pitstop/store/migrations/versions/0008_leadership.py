"""The lead among control planes"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    whole = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    table = op.create_table(
        "leadership",
        sa.Column("id", whole, primary_key=True, autoincrement=False),
        sa.Column("epoch", whole, nullable=False),
        sa.Column("leader", sa.Text(), nullable=False),
        sa.Column("expires", sa.Float(), nullable=False),
    )
    op.execute(sa.insert(table).values(id=1, epoch=0, leader="", expires=0.0))


def downgrade() -> None:
    op.drop_table("leadership")
