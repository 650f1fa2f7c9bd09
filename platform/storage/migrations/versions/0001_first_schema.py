"""First schema."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """First schema."""
    op.create_table(
        "environments",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("facts", JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_environments"),
    )
    op.create_table(
        "published",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("task", sa.String(length=80), nullable=False),
        sa.Column("variant", sa.String(), nullable=False),
        sa.Column("model", sa.String(length=80), nullable=False),
        sa.Column("model_variant", sa.String(), nullable=False),
        sa.Column("metric", sa.String(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("std", sa.Double(), nullable=True),
        sa.Column("statistic", sa.String(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=True),
        sa.Column("units", sa.String(), nullable=False),
        sa.Column("params", sa.Integer(), nullable=True),
        sa.Column("sources", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_published"),
    )
    op.create_index("ix_published_task", "published", ["task"])

    op.create_table(
        "sweeps",
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("content", JSON, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_sweeps"),
    )
    op.create_table(
        "trials",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("task", sa.String(length=80), nullable=False),
        sa.Column("model", sa.String(length=80), nullable=False),
        sa.Column("phase", sa.String(length=10), nullable=False),
        sa.Column("row", sa.String(length=16), nullable=False),
        sa.Column("config", JSON, nullable=False),
        sa.Column("about", JSON, nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("pack", sa.String(length=16), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("epochs", sa.Integer(), nullable=False),
        sa.Column("best_epoch", sa.Integer(), nullable=True),
        sa.Column("valid", sa.Double(), nullable=True),
        sa.Column("test", sa.Double(), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("members", sa.Integer(), nullable=False),
        sa.Column("parameters", sa.Integer(), nullable=True),
        sa.Column("environment", sa.String(length=16), nullable=True),
        sa.Column("ended", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["environment"], ["environments.id"], name="fk_trials_environment"),
        sa.PrimaryKeyConstraint("id", name="pk_trials"),
    )
    op.create_index("ix_trials_row", "trials", ["row"])
    op.create_index("ix_trials_status", "trials", ["status"])
    op.create_index("ix_trials_task_phase", "trials", ["task", "phase"])

    op.create_table(
        "asks",
        sa.Column("sweep", sa.String(length=80), nullable=False),
        sa.Column("trial", sa.String(length=16), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["sweep"], ["sweeps.name"], name="fk_asks_sweep"),
        sa.ForeignKeyConstraint(["trial"], ["trials.id"], name="fk_asks_trial"),
        sa.PrimaryKeyConstraint("sweep", "trial", name="pk_asks"),
    )
    op.create_index("ix_asks_trial", "asks", ["trial"])

    op.create_table(
        "curves",
        sa.Column("trial", sa.String(length=16), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("loss", sa.Double(), nullable=False),
        sa.Column("valid", sa.Double(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["trial"], ["trials.id"], name="fk_curves_trial"),
        sa.PrimaryKeyConstraint("trial", "epoch", name="pk_curves"),
    )
    op.create_table(
        "mirrored",
        sa.Column("trial", sa.String(length=16), nullable=False),
        sa.Column("server", sa.String(length=300), nullable=False),
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("closed", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["trial"], ["trials.id"], name="fk_mirrored_trial"),
        sa.PrimaryKeyConstraint("trial", "server", name="pk_mirrored"),
    )
