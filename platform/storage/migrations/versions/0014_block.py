"""The residual block of a published number; the numbers of linear and gated recurrences are added with it."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("published", sa.Column("block", sa.String, nullable=False, server_default=""))
