"""The Lab over a store of many models, tasks and failures, and while a sweep runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from browser import PAGES, Come, lines
from lab import about, trial

from longwave.platform.bench.board import fill_store
from longwave.platform.records.run import Run
from longwave.platform.storage.store import Store

pytestmark = pytest.mark.integration

MODELS, TASKS = 25, 20
SWEEP = """name = "live"
task = "adding"
variant = "N=20"
models = ["lem"]
trials = 2
retrain = 1
hidden = 8
batch = 10
steps = 5
epochs = 400
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a store of 25 models on 20 tasks, one run of twenty diverged, and a sweep whose trials failed."""
    url = f"sqlite:///{tmp_path_factory.mktemp('large') / 'store.db'}"
    with Store(url) as store:
        fill_store(store, MODELS * TASKS * 11, TASKS, MODELS)
        lost = [trial("lem", seed) for seed in range(5)]
        store.add_sweep("lost", {})
        store.add_trials("lost", lost, [about(c) for c in lost])
        store.write([], [Run(c.id, "failed", "out of memory: it needed 200 GiB", 0) for c in lost])
    return url


@pytest.mark.slow  # ten pages of 500 rows and more
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_page_over_many_rows_opens_and_can_be_read_by_all(large: str, come: Come, name: str, theme: str) -> None:
    with Store(large, create=False, read_only=True) as store:
        row = store.retrainings("task 03")[0].config.row
    query = {"task": {"task": "task 03"}, "row": {"row": row}, "sweep": {"sweep": "lost"}}.get(name, {})
    visitor = come(large, name, look={"color_scheme": theme}, **query)
    assert visitor.violations() == [] and "cannot be drawn" not in visitor.text()
    if name == "task":
        assert len(lines(visitor.page)) > 2 * MODELS, "the whole board, without a window that scrolls"


@pytest.mark.slow  # trains
def test_a_sweep_that_runs_is_followed_to_its_end_on_one_open_page(
    tmp_path: Path, home: Path, come: Come, made: Path
) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    Store(url).close()
    (tmp_path / "live.toml").write_text(SWEEP)
    command = [sys.executable, "-m", "longwave", "sweep", "run", str(tmp_path / "live.toml"), "--store", url]
    with subprocess.Popen([*command, "--workers", "1"], stdout=subprocess.DEVNULL) as sweep:
        with Store(url, create=False, read_only=True) as store:
            while sweep.poll() is None and not store.sweeps():
                pass
        page = come(url, "sweep", sweep="live").page
        page.get_by_text(re.compile("^running, ")).first.wait_for(timeout=120_000)
        assert sweep.wait(300) == 0
    page.get_by_text(re.compile("^over, 3 of 3 trials done")).first.wait_for(timeout=120_000)
