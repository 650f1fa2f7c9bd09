"""What checks say against a trial stands with that trial; before, whether they said anything, with its bundle."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

UNTOLD = "A check of its bundle raised a flag; what it said was not kept before schema 0011."


def upgrade() -> None:
    """Make the table; which trials of a bundle were meant is not known, so all of them are flagged."""
    op.create_table(
        "flags",
        sa.Column("trial", sa.String(16), nullable=False),
        sa.Column("told", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["trial"], ["trials.id"], name="fk_flags_trial"),
        sa.PrimaryKeyConstraint("trial", name="pk_flags"),
    )
    doubted = "SELECT id, :told FROM trials WHERE origin IN (SELECT name FROM imports WHERE NOT checked)"
    op.get_bind().execute(sa.text(f"INSERT INTO flags (trial, told) {doubted}"), {"told": UNTOLD})
    op.drop_column("imports", "checked")
