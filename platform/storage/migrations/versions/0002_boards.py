"""What boards read: notes on published numbers, indexes that hold all that a tally of search trials needs."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Boards read indexes alone to tally search trials. The published numbers are written anew after this."""
    op.add_column("published", sa.Column("note", sa.Text(), nullable=False, server_default=""))
    op.drop_index("ix_trials_task_phase", "trials")
    op.create_index("ix_trials_phase_task", "trials", ["phase", "task", "model", "id", "status", "seconds"])
    op.drop_index("ix_asks_trial", "asks")
    op.create_index("ix_asks_trial", "asks", ["trial", "sweep"])
