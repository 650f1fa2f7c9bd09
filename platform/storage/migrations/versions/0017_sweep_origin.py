"""The bundle that each imported sweep came with, so that no board believes a sweep that nobody trusts."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column. It stays empty for earlier imports, whose sweeps are believed if their trials are trusted."""
    op.add_column("sweeps", sa.Column("origin", sa.String(64)))
