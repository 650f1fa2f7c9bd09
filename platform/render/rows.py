"""What is printed about single rows: a re-run beside what the row says, and two rows side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from longwave.platform.boards.detail import Fact
from longwave.platform.boards.diff import DiffLine
from longwave.platform.boards.row import SHORT, named
from longwave.platform.boards.texts import shown
from longwave.platform.records.stored import Trial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.render.export import Format, Table, format_tables
from longwave.platform.render.terminal import metric_label, print_line, print_table, print_tables
from longwave.platform.statistics.prediction import WRONG

if TYPE_CHECKING:
    from longwave.platform.sweeps.reproduce import Rerun, RerunPlan


def print_expected(plan: RerunPlan) -> None:
    """Print a row and what one more training of it should give."""
    config, about, n = plan.config, plan.row[0].about, plan.expected.n
    metric = metric_label(about.metric, about.unit, about.goal)
    print_line(f"Row {config.row[:SHORT]}: {about.model} on {config.task} {config.variant}".rstrip())
    lost = f"; {plan.diverged} more diverged" if plan.diverged else ""
    print_line(f"  {metric}: {shown(plan.expected.mean, plan.expected.std)} over {n} retrainings{lost}")
    if plan.interval:
        ends = f"[{plan.interval[0]:.6g}, {plan.interval[1]:.6g}]"
        print_line(
            f"  one more retraining is expected in {ends} (95 %, t·std·√(1 + 1/n) on logs of errors if there are any)"
        )
        if plan.reach is not None and plan.power is not None:
            says = "" if plan.can_fail else "; a score inside would verify nothing"
            print_line(
                f"  that is within × {plan.reach:.2g} of the row's typical error; errors {WRONG:g} times as large "
                f"would fall outside in {plan.power:.0%} of cases{says}"
            )
    else:
        why = "one score" if n == 1 else f"{n} equal scores"
        print_line(f"  no prediction interval: the row has {why}")


def print_rerun(done: Rerun, stored: bool) -> None:
    """Print what the training gave, what was different here, whether it fits, and whether it was kept."""
    plan, run = done.plan, done.run
    got = f"{run.test:.6g}" if run.test is not None else f"{run.status}: {run.reason}"
    against = f": × {done.ratio:.3g} the row's error" if done.ratio is not None else ""
    against += f", better than {done.improvement:.0%} of its seeds" if done.improvement is not None else ""
    print_line(f"  seed {plan.config.seed} gave {got} in {run.seconds:.1f} s{against}")
    if plan.before is not None:
        change = "" if run.test is None else f"; the difference is {run.test - plan.before:.3g}"
        print_line(f"  the same seed gave {plan.before:.6g} before{change}")
    if done.differences:
        print_table(("differs", "row", "here"), done.differences, prose=(1, 2))
    print_line(_verdict(done) + (" Kept as one more retraining of the row." if stored else ""))


def _verdict(done: Rerun) -> str:
    """Return what one more training says about its row, in a sentence."""
    plan, run = done.plan, done.run
    n = plan.expected.n + plan.diverged
    if done.outcome == "undecided" and run.test is not None and not plan.can_fail:
        return (
            f"Undecided: inside the interval, but errors {WRONG:g} times as large would be inside, too, in "
            f"{1 - (plan.power or 0.0):.0%} of cases. The row's seeds vary too much for one score to verify it."
        )
    if run.status == "diverged" and plan.diverged:
        return f"Undecided: it diverged, and so did {plan.diverged} of the row's {n} seeds."
    if run.status == "diverged":
        return f"Does NOT fit the row: it diverged, which none of the row's {n} seeds did."
    return {
        "inside": "Fits the row: inside the interval of one more seed.",
        "outside": "Does NOT fit the row: outside the interval, where one honest seed in 20 falls.",
        "undecided": "Undecided: "
        + ("the training failed." if run.test is None else "the row has no prediction interval."),
    }[done.outcome]


def print_diff(a: TrialConfig, b: TrialConfig, lines: Sequence[DiffLine], format: Format) -> None:
    """Print what two rows say, line by line."""
    names = (f"{a.model} {a.row[:SHORT]}", f"{b.model} {b.row[:SHORT]}")
    columns = ("section", "what", *names)
    cells = [(line.section, line.what, cell_text(line.a), cell_text(line.b)) for line in lines]
    if format is not Format.table:
        made = Table(" and ".join(names), columns, cells, records=[asdict(line) for line in lines])
        print(format_tables([made], format, {"a": a.row, "b": b.row, "lines": made.records}), end="")
    elif cells:
        print_table(columns, cells, prose=(1, 2, 3))
    else:
        print_line(f"{names[0]} and {names[1]} do not differ.")


def print_detail(trial: Trial, facts: Sequence[Fact], format: Format) -> None:
    """Print one row, or one trial, in full; JSON holds its facts by section and name."""
    lines, before = [], ""
    for fact in facts:
        lines.append((fact.section if fact.section != before else "", fact.what, cell_text(fact.value)))
        before = fact.section
    board = named((trial.config.task, trial.config.variant))
    title = f"{facts[0].section} {facts[0].value}: {trial.about.model} on {board}"
    content: dict[str, dict[str, Any]] = {}
    for fact in facts:
        content.setdefault(fact.section, {})[fact.what] = fact.value
    prose = frozenset({1, 2})
    made = Table(title, ("", "what", "says"), lines, records=[asdict(fact) for fact in facts], prose=prose)
    print_tables([made], format, content)


def cell_text(value: Any) -> str:
    """Return one value as text: numbers with 6 digits, an interval behind its value, a dash for nothing."""
    if value is None or value in ([], ""):
        return "—"
    if isinstance(value, dict):
        interval = "" if value["low"] is None else f" [{value['low']:.6g}, {value['high']:.6g}]"
        return f"{value['value']:.6g}{interval}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
