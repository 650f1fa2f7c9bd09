"""Published numbers as they are printed: the digits, the parameters fixed, whose run it is, which variant it is of."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns. The published numbers are written anew after this."""
    for name in ("ours", "fixed", "printed", "paper"):
        op.add_column("published", sa.Column(name, sa.String(), nullable=False, server_default=""))
    op.add_column("published", sa.Column("layers", sa.Integer(), nullable=True))
