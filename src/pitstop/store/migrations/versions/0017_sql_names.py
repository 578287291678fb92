"""Mappings and views of SQL"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "sql_names",
        sa.Column("name", KEY, primary_key=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("statement", sa.Text(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("sql_names")
