"""All events of a job, not the changes of its state alone"""

from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.rename_table("state_changes", "job_events")


def downgrade() -> None:
    op.rename_table("job_events", "state_changes")
