"""Operations that were answered lately are found without reading all others"""

from alembic import op

revision = "0016"
down_revision = "0015"

INDEX = "ix_operations_finished"


def upgrade() -> None:
    op.create_index(INDEX, "operations", ["finished"])


def downgrade() -> None:
    op.drop_index(INDEX, "operations")
