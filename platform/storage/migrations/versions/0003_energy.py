"""Energy is a column of a trial; as a fact of its environment it made one environment a trial."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """No released Longwave wrote the fact, so none is moved."""
    op.add_column("trials", sa.Column("joules", sa.Double(), nullable=True))
