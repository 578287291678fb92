"""Marks of epochs know what their epoch reads"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("sink_epochs", sa.Column("digest", sa.String(64)))


def downgrade() -> None:
    op.drop_column("sink_epochs", "digest")
