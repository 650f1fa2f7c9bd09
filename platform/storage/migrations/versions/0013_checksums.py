"""Checksums of sweeps and of the catalogue; existing rows get theirs at the next write."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column to both tables."""
    for table in ("sweeps", "catalogue"):
        op.add_column(table, sa.Column("checksum", sa.String(32), nullable=False, server_default=""))
