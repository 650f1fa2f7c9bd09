"""Results in parts: each trial in one of them alone, and together they are the bundle that they were cut from."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console
from small_sweeps import small

from longwave.platform.cli.main import main
from longwave.platform.exchange.audit import audit
from longwave.platform.exchange.bundle import Bundle, File, seal, write
from longwave.platform.exchange.collect import collect
from longwave.platform.exchange.parts import RERUNS, join, split
from longwave.platform.storage.store import Store
from longwave.platform.sweeps import reproduce
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import driver

WIDER = {"trials": 2, "space": {"gru": {"lr": {"low": 1e-5, "high": 1.0, "log": True}}}}


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> list[Bundle]:
    """All of a store after a sweep, after a second search that goes on from it, and after a re-run that was kept."""
    folder = tmp_path_factory.mktemp("grown")
    bundles = []
    with Store(f"sqlite:///{folder}/store.db") as store:
        for name, more in (("first", {}), ("second", {"wider": WIDER})):
            sweep = small(name=name, models=["gru"], trials=2, epochs=1, **more)
            driver.start_sweep(sweep, store, Workers(1, folder, here=True), None, Console(file=io.StringIO()))
            bundles.append(collect(store))
        done = reproduce.train_again(reproduce.plan_rerun(store, store.retrainings()[0].config.row))
        reproduce.store_rerun(store, done)
        return [*bundles, collect(store)]


def trials(bundle: Bundle) -> list[str]:
    return [entry.config.id for entry in bundle.trials]


def test_parts_hold_each_trial_once_and_together_are_the_whole(grown: list[Bundle]) -> None:
    parts = split(grown[-1])
    assert [part.name for part in parts] == ["first", "second", RERUNS]
    together = [trial for part in parts for trial in trials(part.bundle)]
    assert sorted(together) == trials(grown[-1]) and len(set(together)) == len(together)
    files = [seal(part.bundle) for part in parts]
    assert join(files) == join(files[::-1]) == seal(grown[-1]) and join(files[:1]) == files[0]


def test_what_is_new_is_a_part_of_its_own_and_nothing_is_a_part_twice(grown: list[Bundle]) -> None:
    packed: list[Bundle] = []
    for whole, name in zip(grown, ["first", "second", RERUNS], strict=True):
        [part] = split(whole, packed)
        assert part.name == name
        packed.append(part.bundle)
    assert packed == [part.bundle for part in split(grown[-1])], "whenever it was packed, it is the same"
    assert split(grown[-1], packed) == []


def test_a_sweep_that_asked_for_nothing_new_stays_beside_one_that_asked_for_the_same(grown: list[Bundle]) -> None:
    [sweep] = grown[0].sweeps
    again = sweep.model_copy(update={"content": {**sweep.content, "name": "again"}})
    [part] = split(grown[0].model_copy(update={"sweeps": [sweep, again]}))
    assert {s.content["name"] for s in part.bundle.sweeps} == {"first", "again"}


def test_a_second_search_alone_is_rejected_in_a_line_that_says_what_to_do(grown: list[Bundle]) -> None:
    files: list[File] = [seal(part.bundle) for part in split(grown[1])]
    assert audit(files[0]) == [] == audit(join(files), joined=files)
    [finding] = audit(files[1])
    assert finding.message.startswith("sweep second planned ") and finding.message.endswith(
        "import all together: longwave import DIR"
    )


def test_trust_is_asked_for_bundles_of_searches_too_as_they_may_choose_rows_that_are_trained_here(
    grown: list[Bundle], store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = grown[0]
    of_phase = {phase: [e for e in whole.trials if e.config.phase == phase] for phase in ("search", "retrain")}
    searches = seal(whole.model_copy(update={"trials": of_phase["search"], "sweeps": []}))
    rows = seal(whole.model_copy(update={"trials": of_phase["retrain"]}))
    for name, file in (("a", searches), ("b", rows)):
        write(file, tmp_path / name)
    assert main(["import", str(tmp_path / "a"), str(tmp_path / "b"), "--store", store.url]) == 0
    printed = re.sub(r"\s+", " ", capsys.readouterr().out)
    names = f"--trust {searches.name[:12]} --trust {rows.name[:12]}"
    assert printed.count("--trust") == 2 and f"longwave board {names} --store" in printed
    assert main(["board", "adding", "--trust", rows.name[:12], "--store", store.url]) == 0


def test_of_joined_bundles_each_has_to_have_its_own_hashes(grown: list[Bundle]) -> None:
    files = [seal(part.bundle) for part in split(grown[1])]
    forged = [files[0], files[1].model_copy(update={"name": "0" * 64})]
    [finding] = audit(join(forged), joined=forged)
    assert finding.message == "the bundle's name is not the hash of its records."
