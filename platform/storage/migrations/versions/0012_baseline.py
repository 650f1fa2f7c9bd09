"""The tables of 0.2.0, the first version whose stores are kept. Nothing here may change."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0012"
down_revision = None
branch_labels = None
depends_on = None

JSON = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")
TIME = sa.DateTime(timezone=True)
metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(column_0_label)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def upgrade() -> None:
    """Make all tables. Versions up to 0011 were those of stores that no release made."""
    metadata.create_all(op.get_bind(), checkfirst=False)


sa.Table(
    "catalogue",
    metadata,
    sa.Column("kind", sa.String(10), primary_key=True),
    sa.Column("name", sa.String(80), primary_key=True),
    sa.Column("variant", sa.String(200), primary_key=True, server_default=""),
    sa.Column("version", sa.String, nullable=False),
    sa.Column("family", sa.String, nullable=False),
    sa.Column("data", sa.String, nullable=False, server_default=""),
    sa.Column("facts", JSON, nullable=False),
    sa.Column("written", TIME, nullable=False),
)
sa.Table(
    "environments",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("facts", JSON, nullable=False),
)
sa.Table(
    "imports",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("at", TIME, nullable=False),
)
sa.Table(
    "patches",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("text", sa.Text, nullable=False),
)
sa.Table(
    "probes",
    metadata,
    sa.Column("kind", sa.String(80), primary_key=True),
    sa.Column("shape", sa.String(16), primary_key=True),
    sa.Column("members", sa.Integer, primary_key=True),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Column("capacity", sa.BigInteger, nullable=False),
    sa.Column("step", sa.Double, nullable=False),
    sa.Column("epoch", sa.Double, nullable=False),
    sa.Column("busy", sa.Double),
    sa.Column("fits", sa.Boolean, nullable=False),
)
sa.Table(
    "published",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("task", sa.String(80), nullable=False),
    sa.Column("variant", sa.String, nullable=False),
    sa.Column("model", sa.String(80), nullable=False),
    sa.Column("model_variant", sa.String, nullable=False),
    sa.Column("metric", sa.String, nullable=False),
    sa.Column("value", sa.Double, nullable=False),
    sa.Column("std", sa.Double),
    sa.Column("statistic", sa.String, nullable=False),
    sa.Column("n", sa.Integer),
    sa.Column("units", sa.String, nullable=False),
    sa.Column("params", sa.Integer),
    sa.Column("sources", sa.Text, nullable=False),
    sa.Column("note", sa.Text, nullable=False, server_default=""),
    sa.Column("ours", sa.String, nullable=False, server_default=""),
    sa.Column("fixed", sa.String, nullable=False, server_default=""),
    sa.Column("printed", sa.String, nullable=False, server_default=""),
    sa.Column("layers", sa.Integer),
    sa.Column("paper", sa.String, nullable=False, server_default=""),
    sa.Index("ix_published_task", "task"),
)
sa.Table(
    "sweeps",
    metadata,
    sa.Column("name", sa.String(80), primary_key=True),
    sa.Column("content", JSON, nullable=False),
    sa.Column("plan", JSON),
    sa.Column("created", TIME, nullable=False),
    sa.Column("state", sa.String(10), nullable=False, server_default=""),
)
sa.Table(
    "drivers",
    metadata,
    sa.Column("owner", sa.String(32), primary_key=True),
    sa.Column("sweep", sa.String(80), sa.ForeignKey("sweeps.name"), nullable=False),
    sa.Column("machine", sa.String, nullable=False),
    sa.Column("process", sa.Integer, nullable=False),
    sa.Column("process_started", sa.Double, nullable=False),
    sa.Column("priority", sa.Integer, nullable=False),
    sa.Column("note", sa.String, nullable=False, server_default=""),
    sa.Column("started", sa.Double, nullable=False),
    sa.Column("heartbeat", sa.Double, nullable=False),
    sa.Column("expires", sa.Double, nullable=False),
    sa.Column("ended", sa.Boolean, nullable=False),
    sa.Column("used", JSON),
    sa.Column("expected", JSON),
    sa.Index("ix_drivers_sweep", "sweep"),
)
sa.Table(
    "trials",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("task", sa.String(80), nullable=False),
    sa.Column("model", sa.String(80), nullable=False),
    sa.Column("phase", sa.String(10), nullable=False),
    sa.Column("row", sa.String(16), nullable=False),
    sa.Column("config", JSON, nullable=False),
    sa.Column("about", JSON, nullable=False),
    sa.Column("status", sa.String(10), nullable=False),
    sa.Column("pack", sa.String(16)),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("epochs", sa.Integer, nullable=False),
    sa.Column("best_epoch", sa.Integer),
    sa.Column("valid", sa.Double),
    sa.Column("test", sa.Double),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("members", sa.Integer, nullable=False),
    sa.Column("parameters", sa.Integer),
    sa.Column("joules", sa.Double),
    sa.Column("environment", sa.String(16), sa.ForeignKey("environments.id")),
    sa.Column("origin", sa.String(64), sa.ForeignKey("imports.name")),
    sa.Column("rerun", sa.String(10), nullable=False, server_default=""),
    sa.Column("ended", TIME),
    sa.Column("checksum", sa.String(80), nullable=False, server_default=""),
    sa.Index("ix_trials_phase_task", "phase", "task", "model", "id", "status", "seconds"),
    sa.Index("ix_trials_row", "row"),
    sa.Index("ix_trials_status", "status"),
)
sa.Table(
    "archive",
    metadata,
    sa.Column("trial", sa.String(16), sa.ForeignKey("trials.id"), primary_key=True),
    sa.Column("attempt", sa.Integer, primary_key=True),
    sa.Column("epoch", sa.Integer, primary_key=True),
    sa.Column("loss", sa.Double, nullable=False),
    sa.Column("valid", sa.Double, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
)
sa.Table(
    "attempts",
    metadata,
    sa.Column("trial", sa.String(16), sa.ForeignKey("trials.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("owner", sa.String, nullable=False),
    sa.Column("fence", sa.Integer, nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False, server_default="0"),
    sa.Column("started", TIME, nullable=False),
    sa.Column("ended", TIME),
    sa.Column("status", sa.String(10), nullable=False, server_default=""),
    sa.Column("reason", sa.Text, nullable=False, server_default=""),
)
sa.Table(
    "cohorts",
    metadata,
    sa.Column("cohort", sa.String(16), primary_key=True),
    sa.Column("epoch", sa.Integer, primary_key=True),
    sa.Column("trial", sa.String(16), sa.ForeignKey("trials.id"), primary_key=True),
    sa.Column("valid", sa.Double),
    sa.Column("stays", sa.Boolean),
)
sa.Table(
    "curves",
    metadata,
    sa.Column("trial", sa.String(16), sa.ForeignKey("trials.id"), primary_key=True),
    sa.Column("epoch", sa.Integer, primary_key=True),
    sa.Column("loss", sa.Double, nullable=False),
    sa.Column("valid", sa.Double, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
)
sa.Table(
    "deliveries",
    metadata,
    sa.Column("trial", sa.String(16), sa.ForeignKey("trials.id"), primary_key=True),
    sa.Column("server", sa.String(300), primary_key=True),
    sa.Column("run", sa.String(64), nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False),
    sa.Column("closed", sa.Boolean, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False, server_default="0"),
)
sa.Table(
    "flags",
    metadata,
    sa.Column("trial", sa.String(16), sa.ForeignKey("trials.id"), primary_key=True),
    sa.Column("text", sa.Text, nullable=False),
)
sa.Table(
    "leases",
    metadata,
    sa.Column("trial", sa.String(16), sa.ForeignKey("trials.id"), primary_key=True),
    sa.Column("owner", sa.String(32), nullable=False),
    sa.Column("fence", sa.Integer, nullable=False),
    sa.Index("ix_leases_owner", "owner"),
)
sa.Table(
    "measures",
    metadata,
    sa.Column("trial", sa.String(16), sa.ForeignKey("trials.id"), primary_key=True),
    sa.Column("key", sa.String(80), primary_key=True),
    sa.Column("x_name", sa.String(40), primary_key=True, server_default=""),
    sa.Column("x", sa.Double, primary_key=True, server_default="0"),
    sa.Column("unit", sa.String, nullable=False),
    sa.Column("value", sa.Double, nullable=False),
)
sa.Table(
    "sweep_trials",
    metadata,
    sa.Column("sweep", sa.String(80), sa.ForeignKey("sweeps.name"), primary_key=True),
    sa.Column("trial", sa.String(16), sa.ForeignKey("trials.id"), primary_key=True),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("cell", sa.Integer),
    sa.Index("ix_sweep_trials_trial", "trial", "sweep", "cell"),
)
