"""What is printed about single rows: a re-run beside what the row says, and two rows side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from longwave.platform.boards.diff import DiffLine
from longwave.platform.boards.row import SHORT
from longwave.platform.boards.texts import shown
from longwave.platform.records.trial import TrialConfig
from longwave.platform.render.export import Format, Table, write
from longwave.platform.render.terminal import measured, say, table

if TYPE_CHECKING:
    from longwave.platform.sweeps.reproduce import Rerun, RerunPlan

VERDICTS = {
    "inside": "The row is reproduced: inside its interval.",
    "outside": "NOT reproduced: outside the row's interval.",
    "undecided": "Undecided.",
}


def expected(plan: RerunPlan) -> None:
    """Print a row and what one more training of it should give."""
    config, about, n = plan.config, plan.row[0].about, plan.expected.n
    metric = measured(about.metric, about.unit, about.goal)
    say(f"Row {config.row[:SHORT]}: {about.model} on {config.task} {config.variant}".rstrip())
    say(f"  {metric}: {shown(plan.expected.mean, plan.expected.std)} over {n} retrainings")
    if plan.interval:
        say(f"  one more is expected in [{plan.interval[0]:.6g}, {plan.interval[1]:.6g}] (95 %, t·std·√(1 + 1/n))")
    else:
        why = "one score" if n == 1 else f"{n} equal scores"
        say(f"  no interval can be stated for one more: {why}")


def found(done: Rerun, kept: bool) -> None:
    """Print what the training gave, what was different here, whether it fits, and whether it was kept."""
    plan, run = done.plan, done.run
    got = f"{run.test:.6g}" if run.test is not None else f"{run.status}: {run.reason}"
    say(f"  seed {plan.config.seed} gave {got} in {run.seconds:.1f} s")
    if plan.before is not None:
        change = "" if run.test is None else f"; the difference is {run.test - plan.before:.3g}"
        say(f"  the same seed gave {plan.before:.6g} before{change}")
    if done.differences:
        table(("differs", "row", "here"), done.differences)
    say(VERDICTS[done.outcome] + (" Kept as one more retraining of the row." if kept else ""))


def diff(a: TrialConfig, b: TrialConfig, lines: Sequence[DiffLine], format: Format) -> None:
    """Print what two rows say, line by line."""
    names = (f"{a.model} {a.row[:SHORT]}", f"{b.model} {b.row[:SHORT]}")
    columns = ("section", "what", *names)
    cells = [(line.section, line.what, cell(line.a), cell(line.b)) for line in lines]
    if format is not Format.table:
        made = Table(" and ".join(names), columns, cells, records=[asdict(line) for line in lines])
        print(write([made], format, {"a": a.row, "b": b.row, "lines": made.records}), end="")
    elif cells:
        table(columns, cells)
    else:
        say(f"{names[0]} and {names[1]} differ in nothing.")


def cell(value: Any) -> str:
    """Return one value as text: numbers with 6 digits, an interval behind its value, a dash for nothing."""
    if value is None or value in ([], ""):
        return "—"
    if isinstance(value, dict):
        interval = "" if value["low"] is None else f" [{value['low']:.6g}, {value['high']:.6g}]"
        return f"{value['value']:.6g}{interval}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:.6g}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
