"""No table of what was sent to MLflow: its server is asked what it has of a sweep."""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Drop the table."""
    op.drop_table("deliveries")
