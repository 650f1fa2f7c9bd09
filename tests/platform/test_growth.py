"""What one has to edit to add a thing, found out by adding it to a copy of the tree."""

from __future__ import annotations

import json
from pathlib import Path

from copies import copied

TINY = {
    "name": "tiny", "task": "adding", "variant": "N=20", "models": ["lem"], "trials": 2, "retrain": 2, "hidden": 8,
    "batch": 10, "steps": 5, "epochs": 2,
}  # fmt: skip
SWEPT = f"""
import io
from pathlib import Path
from rich.console import Console
from longwave.platform.storage.store import Store
from longwave.platform.sweeps import sweep
from longwave.platform.sweeps.config import check_sweep
from longwave.platform.sweeps.workers import Workers

def swept(**changes):
    store = Store("sqlite:///store.db")
    file = check_sweep({{**{TINY!r}, **changes}}, "tiny")
    sweep.start(file, store, Workers(1, Path("storage"), here=True), None, Console(file=io.StringIO()))
    return store
"""
"""A program's beginning that gives the store of a tiny sweep."""


def test_a_sampler_is_one_entry_in_one_file(tmp_path: Path) -> None:
    copy = copied(tmp_path)
    place = '    "tpe": Sampler('
    entry = '    "halton": Sampler(lambda samplers, seed: samplers.QMCSampler(qmc_type="halton"), primed=True),\n'
    copy.edit("platform/sweeps/space.py", place, entry + place)
    program = """
with swept(sampler="halton") as store:
    print(len(store.trials("tiny")), store.sweep("tiny").content["sampler"])
"""
    assert copy.run(SWEPT + program).split() == ["4", "halton"]


def test_a_statistic_of_a_board_is_its_function_and_one_line(tmp_path: Path) -> None:
    copy = copied(tmp_path)
    start = "def mean_std("
    function = 'def middle(values: Sequence[float]) -> float:\n    """Return the median."""\n    import statistics\n\n'
    copy.edit("platform/statistics/stats.py", start, function + "    return statistics.median(values)\n\n\n" + start)
    line = '    Column("searched", "searched",'
    column = (
        '    Column("middle", "in the middle", "Median of the scores.", "number", ALL, unit=METRIC,\n'
        "           read=lambda row: middle(row.scores) if row.scores else None),\n"
    )
    copy.edit("platform/boards/columns.py", line, column + line)
    above = "from longwave.platform.statistics.verdict import ENOUGH\n"
    copy.edit("platform/boards/columns.py", above, "from longwave.platform.statistics.stats import middle\n" + above)
    program = """
from statistics import median
from longwave.dashboard import cells
from longwave.platform.cli.main import main
from longwave.platform.storage.boards import read_board
from longwave.platform.editions.publish import publish
import json, pandas
with swept() as store:
    [row] = [row for row in read_board(store) if row.kind == "reproduced"]
    publish(Path("edition"), store, "Longwave", "c")
told = median(row.scores)
for format in ("table", "csv", "markdown", "latex"):
    print(f"--- {format}")
    main(["board", "adding", "--store", "sqlite:///store.db", "--format", format])
[kept] = [r for r in json.loads(Path("edition/board.json").read_text())["rows"] if r["kind"] == "reproduced"]
assert kept["middle"] == told
assert told in set(pandas.read_parquet("edition/rows.parquet")["middle"])
page = Path("edition/index.html").read_text()
assert "in the middle" in page and "Median of the scores." in page
assert cells.headings([row])["middle"] == ("in the middle", "Median of the scores.")
assert list(cells.board_frame([row])["middle"]) == [told]
"""
    parts = copy.run(SWEPT + program).split("--- ")[1:]
    printed = {part.split("\n")[0]: part for part in parts}
    assert all("in the middle" in printed[name] for name in ("table", "markdown", "latex"))
    assert "middle" in printed["csv"].splitlines()[1].split(",")


def test_a_column_of_the_store_is_the_record_the_schema_and_a_migration(tmp_path: Path) -> None:
    copy = copied(tmp_path)
    copy.edit(
        "platform/records/run.py", '    patch: str = ""\n', '    patch: str = ""\n    tokens: int | None = None\n'
    )
    copy.edit(
        "platform/storage/schema.py",
        "    joules: Mapped[float | None]\n",
        "    joules: Mapped[float | None]\n    tokens: Mapped[int | None]\n",
    )
    (tmp_path / "longwave/platform/storage/migrations/versions/0005_tokens.py").write_text(
        '"""Tokens seen."""\nimport sqlalchemy as sa\nfrom alembic import op\n\n'
        'revision, down_revision, branch_labels, depends_on = "0005", "0004", None, None\n\n\n'
        'def upgrade() -> None:\n    op.add_column("trials", sa.Column("tokens", sa.Integer(), nullable=True))\n'
    )
    program = """
from dataclasses import replace
from longwave.platform.records.run import Run
with swept() as store:
    first = store.trials("tiny")[0]
    more = replace(first.config, seed=1)
    store.ask(None, [more], [first.about])
    store.write([], [Run(more.id, "ok", valid=1.0, tokens=7)])
    print([t.run.tokens for t in store.trials_of([first.config.id, more.id])])
"""
    assert sorted(json.loads(copy.run(SWEPT + program).replace("None", "null")), key=str) == [7, None]


METRIC = """
from dataclasses import replace
from longwave.platform.cli.main import main
from longwave.platform.storage.boards import read_board
with swept({changes}) as store:
    for row in read_board(store):
        if row.kind == "reproduced":
            print(row.n, row.superseded or "current", row.rank_low)
"""


def test_a_halved_metric_under_a_new_version_is_another_row_and_the_old_one_is_superseded(tmp_path: Path) -> None:
    copy = copied(tmp_path)
    before = copy.run(SWEPT + METRIC.format(changes=""))
    assert before.split("\n")[0] == "2 current 1"
    copy.edit("tasks/adding.py", '    version="2",\n', '    version="3",\n')
    copy.edit("tasks/base/spec.py", "return self.finish(total / count)", "return self.finish(total / count / 2)")
    after = copy.run(SWEPT + METRIC.format(changes="name='again'")).splitlines()
    assert after == ["2 current 1", "2 task adding: version 2, now 3 None"]
