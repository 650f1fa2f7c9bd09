"""Identities that grow, and facts each in a place of their own; room for attempts, leases, cohorts and measures.

Every trial gets its new identity (``records.legacy`` says which), and so does all that names it; ``aliases`` keeps the
old ones. ``carry`` does it.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from longwave.platform.storage.migrations.carry import carry_environments, carry_trials

JSON = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables and columns, then carry over what is there."""
    _make_tables()
    op.add_column("sweeps", sa.Column("plan", JSON, nullable=True))
    op.add_column("trials", sa.Column("rerun", sa.String(10), nullable=False, server_default=""))
    # Alembic would add the foreign key in a statement of its own, which SQLite does not have.
    op.execute("ALTER TABLE trials ADD COLUMN origin VARCHAR(64) CONSTRAINT fk_trials_origin REFERENCES imports (name)")
    connection = op.get_bind()
    carry_environments(connection)
    carry_trials(connection)


def _make_tables() -> None:
    op.create_table(
        "imports",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("checked", sa.Boolean(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_imports"),
    )
    op.create_table(
        "catalogue",
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("variant", sa.String(200), nullable=False, server_default=""),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("family", sa.String(), nullable=False),
        sa.Column("data", sa.String(), nullable=False, server_default=""),
        sa.Column("facts", JSON, nullable=False),
        sa.Column("written", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("kind", "name", "variant", name="pk_catalogue"),
    )
    op.create_table(
        "patches",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_patches"),
    )
    op.create_table(
        "aliases",
        sa.Column("old", sa.String(16), nullable=False),
        sa.Column("new", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.PrimaryKeyConstraint("old", name="pk_aliases"),
    )
    op.create_table(
        "measures",
        sa.Column("trial", sa.String(16), nullable=False),
        sa.Column("key", sa.String(80), nullable=False),
        sa.Column("x_name", sa.String(40), nullable=False, server_default=""),
        sa.Column("x", sa.Double(), nullable=False, server_default="0"),
        sa.Column("unit", sa.String(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["trial"], ["trials.id"], name="fk_measures_trial"),
        sa.PrimaryKeyConstraint("trial", "key", "x_name", "x", name="pk_measures"),
    )
    op.create_table(
        "attempts",
        sa.Column("trial", sa.String(16), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("started", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["trial"], ["trials.id"], name="fk_attempts_trial"),
        sa.PrimaryKeyConstraint("trial", "number", name="pk_attempts"),
    )
    op.create_table(
        "leases",
        sa.Column("trial", sa.String(16), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["trial"], ["trials.id"], name="fk_leases_trial"),
        sa.PrimaryKeyConstraint("trial", name="pk_leases"),
    )
    op.create_table(
        "cohorts",
        sa.Column("cohort", sa.String(16), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("trial", sa.String(16), nullable=False),
        sa.Column("valid", sa.Double(), nullable=True),
        sa.Column("stays", sa.Boolean(), nullable=True),
        sa.ForeignKeyConstraint(["trial"], ["trials.id"], name="fk_cohorts_trial"),
        sa.PrimaryKeyConstraint("cohort", "epoch", "trial", name="pk_cohorts"),
    )
