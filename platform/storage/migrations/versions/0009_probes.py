"""What packs took of devices, when tried and in all."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table and the columns; nothing is known of what ran before."""
    json = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")
    op.add_column("drivers", sa.Column("used", json, nullable=True))
    op.add_column("drivers", sa.Column("expected", json, nullable=True))
    op.create_table(
        "probes",
        sa.Column("kind", sa.String(80), nullable=False),
        sa.Column("shape", sa.String(16), nullable=False),
        sa.Column("members", sa.Integer(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("capacity", sa.BigInteger(), nullable=False),
        sa.Column("step", sa.Double(), nullable=False),
        sa.Column("epoch", sa.Double(), nullable=False),
        sa.Column("busy", sa.Double(), nullable=True),
        sa.Column("fits", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "shape", "members", name="pk_probes"),
    )
