"""Drivers with a heartbeat, leases under them, how attempts ended and what they left, who is of a cohort."""

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables and columns; no trial is running, and cohorts know their members."""
    op.add_column("sweeps", sa.Column("state", sa.String(10), nullable=False, server_default=""))
    op.add_column("trials", sa.Column("seal", sa.String(64), nullable=True))
    op.add_column("attempts", sa.Column("status", sa.String(10), nullable=False, server_default=""))
    op.add_column("attempts", sa.Column("reason", sa.Text(), nullable=False, server_default=""))
    op.drop_table("leases")  # nothing was ever written there
    _make_tables()
    op.execute("UPDATE trials SET status = 'planned' WHERE status = 'running'")
    _name_cohorts(op.get_bind())


def _make_tables() -> None:
    op.create_table(
        "drivers",
        sa.Column("owner", sa.String(32), nullable=False),
        sa.Column("sweep", sa.String(80), nullable=False),
        sa.Column("place", sa.String(), nullable=False),
        sa.Column("process", sa.Integer(), nullable=False),
        sa.Column("born", sa.Double(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("note", sa.String(), nullable=False, server_default=""),
        sa.Column("started", sa.Double(), nullable=False),
        sa.Column("beat", sa.Double(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.Column("ended", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["sweep"], ["sweeps.name"], name="fk_drivers_sweep"),
        sa.PrimaryKeyConstraint("owner", name="pk_drivers"),
    )
    op.create_index("ix_drivers_sweep", "drivers", ["sweep"])
    op.create_table(
        "leases",
        sa.Column("trial", sa.String(16), nullable=False),
        sa.Column("owner", sa.String(32), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["trial"], ["trials.id"], name="fk_leases_trial"),
        sa.PrimaryKeyConstraint("trial", name="pk_leases"),
    )
    op.create_index("ix_leases_owner", "leases", ["owner"])
    op.create_table(
        "archive",
        sa.Column("trial", sa.String(16), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("loss", sa.Double(), nullable=False),
        sa.Column("valid", sa.Double(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["trial"], ["trials.id"], name="fk_archive_trial"),
        sa.PrimaryKeyConstraint("trial", "attempt", "epoch", name="pk_archive"),
    )


def _name_cohorts(connection: sa.Connection) -> None:
    """Write the members of each cohort, and the rungs at which some were stopped: what was decided is not again."""
    query = "SELECT id, status, epochs, config FROM trials WHERE CAST(config AS TEXT) LIKE '%cohort%'"
    members: dict[str, list[tuple[str, str, int, bool]]] = {}
    for trial, status, epochs, text in connection.execute(sa.text(query)):
        config = json.loads(text) if isinstance(text, str) else text
        if halving := config.get("halving"):
            last = config.get("selection") == "last"
            members.setdefault(halving["cohort"], []).append((trial, status, epochs, last))
    for cohort, trials in members.items():
        found = [{"cohort": cohort, "epoch": 0, "trial": i, "valid": None, "stays": None} for i, *_ in trials]
        for rung in {epochs for _, status, epochs, _ in trials if status == "stopped"}:
            found += _rung(connection, cohort, rung, trials)
        insert = (
            "INSERT INTO cohorts (cohort, epoch, trial, valid, stays) VALUES (:cohort, :epoch, :trial, :valid, :stays)"
        )
        connection.execute(sa.text(insert), found)


def _rung(
    connection: sa.Connection, cohort: str, rung: int, trials: list[tuple[str, str, int, bool]]
) -> Iterator[dict[str, Any]]:
    """Yield the places at a rung of the trials that came to it, whose curves tell their scores."""
    curve = sa.text("SELECT epoch, valid FROM curves WHERE trial = :trial AND epoch <= :rung ORDER BY epoch")
    goals = sa.text("SELECT about FROM trials WHERE id = :trial")
    for trial, status, epochs, last in trials:
        valids = [valid for _, valid in connection.execute(curve, {"trial": trial, "rung": rung})]
        if len(valids) == rung:
            about = connection.scalar(goals, {"trial": trial})
            goal = (json.loads(about) if isinstance(about, str) else about)["goal"]
            score = valids[-1] if last else max(valids) if goal == "max" else min(valids)
            stays = not (status == "stopped" and epochs == rung)
            yield {"cohort": cohort, "epoch": rung, "trial": trial, "valid": score, "stays": stays}
