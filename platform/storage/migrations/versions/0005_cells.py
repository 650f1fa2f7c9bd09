"""Which entry of its plan a sweep asked for a trial in: a model has one for each cell of a grid, on each task."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; what was asked before has no cell, and is told apart by its model."""
    op.add_column("asks", sa.Column("cell", sa.Integer(), nullable=True))
    op.drop_index("ix_asks_trial", "asks")
    op.create_index("ix_asks_trial", "asks", ["trial", "sweep", "cell"])
