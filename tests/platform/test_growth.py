"""What one has to edit to add a thing, found out by adding each to a copy of the tree."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from copies import copied
from next_migration import HEAD, NEXT

pytestmark = pytest.mark.integration

Edits = Mapping[str, Sequence[tuple[str, str]]]
"""By file, lines and what comes before them."""
SAMPLER: Edits = {
    "platform/search/space.py": [
        ('    "tpe": ShortName(', '    "halton": ShortName("QMCSampler", {"qmc_type": "halton"}),\n')
    ]
}
FIELD: Edits = {"platform/records/trial.py": [("    precision: str =", "    weight_decay: float = 0.0\n")]}
STATISTIC: Edits = {
    "platform/statistics/stats.py": [
        (
            "def mean_std(",
            "def middle(values: Sequence[float]) -> float:\n"
            '    """Return the median."""\n'
            "    return sorted(values)[len(values) // 2]\n\n\n",
        )
    ],
    "platform/boards/columns.py": [
        ("from longwave.platform.statistics.verdict import", "from longwave.platform.statistics.stats import middle\n"),
        (
            '    Column("searched", "searched",',
            '    Column("middle", "in the middle", "Median of the scores.", "number", ALL, unit=METRIC,\n'
            "           read=lambda row: middle(row.scores) if row.scores else None),\n",
        ),
    ],
}
COLUMN: Edits = {
    "platform/records/run.py": [("    measures: tuple[Measure, ...] = ()", "    tokens: int | None = None\n")],
    "platform/storage/schema.py": [("    joules: Mapped[float | None]\n", "    tokens: Mapped[int | None]\n")],
    f"platform/storage/migrations/versions/{NEXT}_tokens.py": [
        (
            "",
            '"""Tokens seen."""\n\nimport sqlalchemy as sa\nfrom alembic import op\n\n'
            f'revision, down_revision, branch_labels, depends_on = "{NEXT}", "{HEAD}", None, None\n\n\n'
            'def upgrade() -> None:\n    """Add them."""\n'
            '    op.add_column("trials", sa.Column("tokens", sa.Integer(), nullable=True))\n',
        )
    ],
}
PROGRAM = """
import io, json, contextlib
from dataclasses import replace
from pathlib import Path
import frozen, pandas
from rich.console import Console
from longwave.dashboard import table_frames
from longwave.dashboard import board_table
from longwave.platform.cli.main import main
from longwave.platform.editions.publish import publish
from longwave.platform.records.run import Run
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.integrity import describe_damage
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.run import driver
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.place.workers import Workers

found = {}
store = Store("sqlite:///store.db")
file = check_sweep({"name": "tiny", "task": "adding", "variant": "N=20", "models": ["lem"], "trials": 2, "retrain": 3,
    "hidden": 8, "batch": 10, "steps": 5, "epochs": 2, "sampler": "halton"}, "tiny")
driver.start_sweep(file, store, Workers(1, Path("storage"), here=True), None, Console(file=io.StringIO()))
found["sampler"] = [len(store.trials("tiny")), store.sweep("tiny").content["sampler"]]

now, before = frozen.present_record(), frozen.read_record()
found["new default"] = sorted(now.pop("defaults").keys() - before.pop("defaults").keys())
found["same ids"] = [now[k][n]["ids"] == old["ids"] for k in before for n, old in before[k].items()]
found["set"] = replace(frozen.PLAIN, weight_decay=0.1).id != frozen.PLAIN.id

[row] = [row for row in read_board(store) if row.kind == "retrained"]
found["scores"], edition = row.scores, publish(Path("edition"), store, "Longwave", "c")
found["json"] = [r["middle"] for r in edition.rows if r["kind"] == "retrained"]
found["parquet"] = list(pandas.read_parquet("edition/rows.parquet")["middle"].dropna())
found["page"] = Path("edition/index.html").read_text()
view = board_table.view_board([row])
found["lab"] = [board_table.column_headings(view)["middle"], list(board_table.board_frame(view)["middle"])]
for form in ("table", "csv", "markdown", "latex"):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        chosen = ["--columns", "title,middle"] if form in ("markdown", "latex") else []
        main(["board", "adding", "--store", "sqlite:///store.db", "--format", form, *chosen])
    found[form] = out.getvalue()

first = store.trials("tiny")[0]
more = replace(first.config, seed=1)
store.add_trials(None, [more], [first.about])
store.write([], [Run(more.id, "ok", valid=1.0, tokens=7)])
found["tokens"] = [store.trials_by_id([c.id])[0].run.tokens for c in (first.config, more)]
found["damage"] = [describe_damage(store.engine)]
with store.transaction() as connection:
    connection.exec_driver_sql("UPDATE trials SET tokens = 8 WHERE tokens = 7")
found["damage"].append(describe_damage(store.engine))
found["more"] = more.id
store.close()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a copy of the tree does in which all of these were added."""
    copy = copied(tmp_path_factory.mktemp("grown"))
    for edits in (SAMPLER, FIELD, STATISTIC, COLUMN):
        for file, lines in edits.items():
            for before, line in lines:
                copy.insert(file, line, before)
    output: dict[str, Any] = json.loads(copy.run(PROGRAM).splitlines()[-1])
    return output


def test_a_sampler_is_one_entry_in_one_file(grown: dict[str, Any]) -> None:
    assert grown["sampler"] == [5, "halton"] and len(SAMPLER) == 1


def test_a_field_of_a_trial_is_one_line_in_one_file_and_changes_no_recorded_identity(grown: dict[str, Any]) -> None:
    assert len(FIELD) == 1 and grown["new default"] == ["weight_decay"] and grown["set"]
    assert len(grown["same ids"]) > 50 and all(grown["same ids"])


def test_a_statistic_of_a_board_is_its_function_and_its_line_and_stands_in_every_view(grown: dict[str, Any]) -> None:
    middle = sorted(grown["scores"])[1]
    assert len(STATISTIC) == 2
    assert grown["json"] == grown["parquet"] == [middle]
    assert grown["lab"] == [["in the middle", "Median of the scores.", "right"], [middle]]
    assert all("in the middle" in grown[view] for view in ("table", "markdown", "latex", "page"))
    assert "Median of the scores." in grown["page"]
    head, *lines = grown["csv"].splitlines()
    assert "middle" in head.split(",") and any(repr(middle) in line for line in lines)


def test_a_column_of_the_store_is_the_record_the_schema_and_a_migration(grown: dict[str, Any]) -> None:
    assert len(COLUMN) == 3 and grown["tokens"] == [None, 7]
    before, after = grown["damage"]
    assert before == "" and after.startswith(f"trial {grown['more']} is damaged"), "a checksum covers it"
