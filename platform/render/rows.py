"""Output about single rows: re-runs, differences of two rows, and details."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from longwave.platform.boards.detail import Fact
from longwave.platform.boards.diff import DiffLine
from longwave.platform.boards.row import SHORT, named
from longwave.platform.boards.texts import shown
from longwave.platform.records.stored import Trial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.render.export import Format, format_tables
from longwave.platform.render.table import Table
from longwave.platform.render.terminal import metric_label, print_line, print_table, print_tables
from longwave.platform.statistics.prediction import WRONG
from longwave.platform.wording import describe_count

if TYPE_CHECKING:
    from longwave.platform.sweeps.reproduce import Rerun, RerunPlan


def print_expected(plan: RerunPlan) -> None:
    """Print a row with the prediction for one more training."""
    config, about, n = plan.config, plan.row[0].about, plan.expected.n
    metric = metric_label(about.metric, about.unit, about.goal)
    print_line(f"Row {config.row[:SHORT]}: {about.model_in_print} on {config.task} {config.variant}".rstrip())
    diverged_text = f"; {plan.diverged} more diverged" if plan.diverged else ""
    retrainings = describe_count(n, "retraining")
    print_line(f"  {metric}: {shown(plan.expected.mean, plan.expected.std)} over {retrainings}{diverged_text}")
    if plan.interval:
        ends = f"[{plan.interval[0]:.6g}, {plan.interval[1]:.6g}]"
        of = "" if plan.reach is None else " of log errors"
        print_line(f"  one more retraining is expected in {ends} (95 %: t·std·√(1 + 1/n){of})")
        if plan.reach is not None and plan.power is not None:
            warning = "" if plan.can_fail else "; a score inside would verify nothing"
            print_line(
                f"  its ends are a factor of {plan.reach:.3g} from the row's typical error; an error {WRONG:g} times "
                f"as large would fall outside in {100 * plan.power:.0f} % of cases{warning}"
            )
    else:
        why = "one score" if n == 1 else f"{n} equal scores"
        print_line(f"  no prediction interval: the row has {why}")


def print_rerun(rerun: Rerun, stored: bool) -> None:
    """Print a re-run's result, differences of its environment, the verdict, and whether it was stored."""
    plan, run = rerun.plan, rerun.run
    result = f"{run.test:.6g}" if run.test is not None else f"{run.status}: {run.reason}"
    against = f": × {rerun.ratio:.3g} the row's error" if rerun.ratio is not None else ""
    against += f", better than {100 * rerun.improvement:.0f} % of its seeds" if rerun.improvement is not None else ""
    print_line(f"  seed {plan.config.seed} gave {result} in {run.seconds:.1f} s{against}")
    if plan.before is not None:
        change = "" if run.test is None else f"; the difference is {run.test - plan.before:.3g}"
        print_line(f"  the same seed gave {plan.before:.6g} before{change}")
    if rerun.differences:
        print_table(("differs", "row", "here"), rerun.differences, prose=(1, 2))
    print_line(_verdict(rerun) + (" Kept as one more retraining of the row." if stored else ""))


def _verdict(rerun: Rerun) -> str:
    """Return the verdict of one more training on its row, in a sentence."""
    plan, run = rerun.plan, rerun.run
    n = plan.expected.n + plan.diverged
    if rerun.outcome == "undecided" and run.test is not None and not plan.can_fail:
        return (
            f"Undecided: inside the interval, but errors {WRONG:g} times as large would be inside, too, "
            f"in {100 * (1 - (plan.power or 0.0)):.0f} % of cases. "
            "The row's seeds vary too much for one score to verify it."
        )
    if run.status == "diverged" and plan.diverged:
        return f"Undecided: it diverged, and so did {plan.diverged} of the row's {n} seeds."
    if run.status == "diverged":
        return f"Does NOT fit the row: it diverged, which none of the row's {n} seeds did."
    return {
        "inside": "Fits the row: inside the interval of one more seed."
        + " The row has this seed already, so only the difference to what it gave before says anything."
        * (plan.before is not None),
        "outside": "Does NOT fit the row: outside the interval, where one honest seed in 20 falls.",
        "undecided": "Undecided: "
        + ("the training failed." if run.test is None else "the row has no prediction interval."),
    }[rerun.outcome]


def print_diff(a: TrialConfig, b: TrialConfig, lines: Sequence[DiffLine], format: Format) -> None:
    """Print two rows, line by line."""
    names = (f"{a.model} {a.row[:SHORT]}", f"{b.model} {b.row[:SHORT]}")
    columns = ("section", "what", *names)
    cells = [(line.section, line.what, cell_text(line.a), cell_text(line.b)) for line in lines]
    if format is not Format.table:
        keys = [field.name for field in fields(DiffLine)]
        export_table = Table(" and ".join(names), columns, cells, records=[asdict(line) for line in lines], keys=keys)
        print(format_tables([export_table], format, {"a": a.row, "b": b.row, "lines": export_table.records}), end="")
    elif cells:
        print_table(columns, cells, prose=(1, 2, 3))
    else:
        print_line(f"{names[0]} and {names[1]} do not differ.")


def print_detail(trial: Trial, facts: Sequence[Fact], format: Format) -> None:
    """Print one row, or one trial, in full; JSON has the facts by section and name."""
    lines, last_section = [], ""
    for fact in facts:
        lines.append((fact.section if fact.section != last_section else "", fact.what, cell_text(fact.value)))
        last_section = fact.section
    board = named((trial.config.task, trial.config.variant))
    title = f"{facts[0].section} {facts[0].value}: {trial.about.model_in_print} on {board}"
    content: dict[str, dict[str, Any]] = {}
    for fact in facts:
        content.setdefault(fact.section, {})[fact.what] = fact.value
    prose = frozenset({1, 2})
    table = Table(title, ("", "what", "says"), lines, records=[asdict(fact) for fact in facts], prose=prose)
    print_tables([table], format, content)


def cell_text(value: Any) -> str:
    """Return a value as text: numbers with 6 digits, an interval after its value, a dash for none."""
    if value is None or value in ([], ""):
        return "—"
    if isinstance(value, dict) and "low" not in value:  # such as the arguments of a pruner
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        interval = "" if value["low"] is None else f" [{value['low']:.6g}, {value['high']:.6g}]"
        return f"{value['value']:.6g}{interval}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
