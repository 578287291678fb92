"""the handle of a run in the place of its pid and creation time"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    with op.batch_alter_table("leases") as batch_op:
        batch_op.add_column(sa.Column("handle", sa.Text(), nullable=False, server_default=""))
    # launchers.processes reads this form, too: runs go on while their control plane is replaced by a newer release.
    leases = sa.table("leases", sa.column("pid"), sa.column("process_created"), sa.column("handle"))
    connection = op.get_bind()
    for pid, created in connection.execute(sa.select(leases.c.pid, leases.c.process_created).distinct()).all():
        same = (leases.c.pid == pid) & (leases.c.process_created == created)
        connection.execute(sa.update(leases).where(same).values(handle=f"{pid}@{created}"))
    with op.batch_alter_table("leases") as batch_op:
        batch_op.alter_column("handle", server_default=None)
        batch_op.drop_column("pid")
        batch_op.drop_column("process_created")


def downgrade() -> None:
    # An older release cannot find the process of a handle: it takes each run for gone and starts the job again.
    with op.batch_alter_table("leases") as batch_op:
        batch_op.add_column(sa.Column("pid", sa.Integer(), nullable=False, server_default="0"))
        batch_op.add_column(sa.Column("process_created", sa.Float(), nullable=False, server_default="0"))
        batch_op.drop_column("handle")
