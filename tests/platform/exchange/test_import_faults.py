"""What an import leaves: right checksums, nothing of one that was killed, and no work where nothing is new."""

from __future__ import annotations

import lzma
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bundles import Content, forge
from tree import ROOT

from longwave.platform import about
from longwave.platform.cli.main import main
from longwave.platform.exchange import intake
from longwave.platform.exchange.bundle import Bundle, File, read, seal, write
from longwave.platform.exchange.curve import Curve
from longwave.platform.exchange.finding import AuditFinding
from longwave.platform.exchange.parts import join
from longwave.platform.exchange.shipped import read_each
from longwave.platform.records.run import Measure, Point, Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.checksums import find_mismatches
from longwave.platform.storage.store import Store

KEPT = ROOT / "tests/platform/exchange/kept/0.2.0.json.xz"
SHIPPED = sorted((ROOT / "infra/board/edition-1/results").glob("edition1-g3-karate-[0-9w]*"))
"""Two bundles of the edition, small ones: a search, and one that goes on from it."""


@pytest.fixture(scope="module")
def bundled() -> File:
    return read(KEPT)


def odd(bundled: File) -> Bundle:
    """Return the bundle with what databases write in ways of their own: -0.0, whole and long numbers, measures."""
    trials = []
    for k, entry in enumerate(bundled.content.trials):
        points = [Point("", 1, -0.0, 3.0, 1e-320, 1e22), Point("", 2, 1e300, 0.1 + 0.2, -0.0, 5.0)]
        run = replace(entry.run, seconds=-0.0, measures=(Measure("a", "1", -0.0), Measure("a", "1", 7.0, "x", 1e16)))
        about = replace(entry.about, trivial={"mean": 1e20, "zero": -0.0}) if k else entry.about
        trials.append(entry.model_copy(update={"run": run, "about": about, "curve": Curve.of(points)}))
    return bundled.content.model_copy(update={"trials": trials})


def test_the_checksums_of_imported_trials_are_those_of_what_lies_in_the_store(
    bundled: File, any_store_url: str, open_store: Callable[[str], Store]
) -> None:
    store, file = open_store(any_store_url), seal(odd(bundled))
    intake.import_bundle(store, file, [AuditFinding("x", "flag", "wörds", [file.content.trials[0].config.id])])
    with store.reading() as connection:
        assert find_mismatches(connection) == {}
    assert store.count() == {"trials": 8, "epochs": 16}


KILLED = """
import os, signal, sys
from pathlib import Path
from longwave.platform.cli.main import main
from longwave.platform.storage import store, trial_writes
store.CHUNK, left, insert = 1, [int(sys.argv[3])], trial_writes.insert_ended
def insert_or_die(connection, trials, replaced):
    insert(connection, trials, replaced)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
trial_writes.insert_ended = insert_or_die
sys.exit(main(["import", sys.argv[1], "--store", sys.argv[2]]))
"""


@pytest.mark.integration
@pytest.mark.skipif(sys.platform == "win32", reason="a process is killed")
@pytest.mark.parametrize("after", [1, 5, 8])
def test_an_import_that_is_killed_leaves_nothing_and_the_next_one_takes_all(
    after: int, bundled: File, tmp_path: Path, open_store: Callable[[str], Store]
) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    done = subprocess.run([sys.executable, "-c", KILLED, str(KEPT), url, str(after)], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    store = open_store(url)
    assert store.count() == {"trials": 0, "epochs": 0} and store.sweeps() == []
    assert main(["import", str(KEPT), "--store", url]) == 0 == main(["import", str(KEPT), "--store", url])
    assert store.count() == {"trials": 8, "epochs": sum(len(e.curve.loss) for e in bundled.content.trials)}
    with store.reading() as connection:
        assert find_mismatches(connection) == {}


AGAIN = """
import sys, time
from longwave.platform.cli.main import main
status = main(["import", *sys.argv[2:], "--store", sys.argv[1]])
print("torch" in sys.modules, time.process_time())
sys.exit(status)
"""


@pytest.mark.integration
def test_what_ships_is_imported_as_it_is_and_a_second_time_in_no_time(
    tmp_path: Path, open_store: Callable[[str], Store], capsys: pytest.CaptureFixture[str]
) -> None:
    url, paths = f"sqlite:///{tmp_path}/s.db", [str(path) for path in SHIPPED]
    assert main(["import", *paths, "--store", url]) == 0
    trials = sum(len(read(path).content.trials) for path in SHIPPED)
    assert capsys.readouterr().out == f"2 bundles of Longwave: {trials} trials imported, 0 already known.\n"
    store = open_store(url)
    checked = open_store(f"sqlite:///{tmp_path}/checked.db")
    intake.import_bundle(checked, *join_shipped())
    ids = [trial.config.id for trial in store.retrainings()]
    assert store.retrainings() == checked.retrainings() and store.curves(ids) == checked.curves(ids)
    assert store.sweeps() == checked.sweeps() and store.catalogue() == checked.catalogue()
    assert store.groups() == checked.groups()
    with store.reading() as connection:
        assert find_mismatches(connection) == {}
    done = subprocess.run([sys.executable, "-c", AGAIN, url, *paths], capture_output=True, text=True, check=True)
    line, loaded, seconds = done.stdout.rsplit(maxsplit=2)
    assert line == f"2 bundles of Longwave: 0 trials imported, {trials} already known."
    assert loaded == "False" and float(seconds) < 2


def seal_with(files: Sequence[File], **changed: Any) -> list[File]:
    """Return the bundles with other results in all retrainings, and names of their own."""
    bundles = []
    for file in files:
        trials = [
            e.model_copy(update={"run": replace(e.run, **changed)}) if e.config.phase == "retrain" else e
            for e in file.content.trials
        ]
        bundles.append(seal(file.content.model_copy(update={"trials": trials})))
    return bundles


@pytest.mark.integration
def test_what_ships_takes_the_place_of_the_same_trials_that_came_in_bundles_of_others(
    any_store_url: str, tmp_path: Path, open_store: Callable[[str], Store], capsys: pytest.CaptureFixture[str]
) -> None:
    store, genuine = open_store(any_store_url), [read(path) for path in SHIPPED]
    others = seal_with(genuine, measures=(Measure("forged", "1", 7.0),))
    intake.import_bundle(store, join(others), [], others)
    assert all(row.untrusted for row in read_board(store) if row.kind == "retrained")
    assert main(["import", *map(str, SHIPPED), "--store", any_store_url]) == 0
    trials = sum(len(file.content.trials) for file in genuine)
    assert capsys.readouterr().out == f"2 bundles of Longwave: {trials} trials imported, 0 already known.\n"
    assert not any(row.untrusted for row in read_board(store))
    clean = open_store(f"sqlite:///{tmp_path}/clean.db")
    intake.import_bundle(clean, *join_shipped())
    assert store.retrainings() == clean.retrainings()
    anonymous, expected = ([replace(group, sweeps=()) for group in each.groups()] for each in (store, clean))
    assert anonymous == expected, "a sweep keeps the name under which it was imported first"
    with store.reading() as connection:
        assert find_mismatches(connection) == {}


def with_forged_search(changed: Content) -> None:
    """Other losers of the search, and other test scores."""
    config_of = {e["run"]["trial"]: TrialConfig.from_dict(e["config"]) for e in changed["trials"]}
    chosen = {config.row for config in config_of.values() if config.phase != "search"}
    for entry in changed["trials"]:
        config = config_of[entry["run"]["trial"]]
        if config.phase == "retrain":
            entry["run"]["test"] = 99.5
        elif config.row not in chosen:
            entry["config"]["params"]["lr"] *= 1.0001


def with_forged_data(changed: Content) -> None:
    for entry in changed["trials"]:
        entry["config"]["data"] = "0" * 12


@pytest.mark.integration
@pytest.mark.parametrize("change", [with_forged_search, with_forged_data])
@pytest.mark.parametrize("first", ["forged", "shipped"])
def test_bundles_of_others_change_no_row_that_ships_whichever_is_imported_first(
    change: Callable[[Content], None], first: str, tmp_path: Path, open_store: Callable[[str], Store]
) -> None:
    clean, store = (open_store(f"sqlite:///{tmp_path}/{name}.db") for name in ("clean", "s"))
    ship = ["import", *map(str, SHIPPED), "--store"]
    assert main([*ship, clean.url]) == 0
    forged = forge(join([read(path) for path in SHIPPED]), change)
    if first == "shipped":
        assert main([*ship, store.url]) == 0
    assert intake.import_bundle(store, forged) > 0
    if first == "forged":
        assert main([*ship, store.url]) == 0
    expected = {group.row: replace(group, sweeps=()) for group in clean.groups()}
    assert {g.row: replace(g, sweeps=()) for g in store.groups() if g.row in expected} == expected
    assert store.catalogue() == clean.catalogue()
    with store.reading() as connection:
        assert find_mismatches(connection) == {}


@pytest.mark.integration
def test_what_ships_is_refused_where_its_trials_were_trained_here_with_other_results(
    tmp_path: Path, open_store: Callable[[str], Store], capsys: pytest.CaptureFixture[str]
) -> None:
    store = open_store(f"sqlite:///{tmp_path}/s.db")
    entry = read(SHIPPED[0]).content.trials[0]
    store.add_trials(None, [entry.config], [entry.about])
    store.write([], [Run(entry.config.id, "ok", epochs=1, best_epoch=1, valid=99.5, test=99.5)])
    assert main(["import", *map(str, SHIPPED), "--store", store.url]) == 2
    assert re.search(
        "is in the store with .*, in the bundle it has .*: import it into another store", capsys.readouterr().err
    )


@pytest.mark.integration
def test_a_bundle_whose_hashes_are_wrong_is_refused_though_all_its_trials_are_known(
    bundled: File, tmp_path: Path, open_store: Callable[[str], Store], capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    intake.import_bundle(open_store(url), bundled)
    write(bundled.model_copy(update={"name": "../../etc/passwd"}), tmp_path / "renamed")
    assert main(["import", str(tmp_path / "renamed"), "--store", url]) == 2
    assert "the bundle's name is not the hash of its records" in capsys.readouterr().err


@pytest.mark.integration
def test_bundles_that_ship_are_trusted_beside_others_though_their_tasks_were_renamed_since(
    bundled: File, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stale = ROOT / "infra/board/edition-2/results/edition2-e1-nino34-modern-795298e4168a.json.xz"
    titles = {entry.about.task for entry in read(stale).content.trials}
    assert titles != {about.derived_facts(entry.config)["task"] for entry in read(stale).content.trials}
    assert main(["import", str(stale), str(KEPT), "--store", f"sqlite:///{tmp_path}/s.db"]) == 0
    lines = capsys.readouterr().out.splitlines()
    with_their_trials = [line for line in lines if any(e.config.id in line for e in read(stale).content.trials)]
    [advice] = [line for line in lines if "--trust" in line]
    assert not with_their_trials and f"longwave board --trust {bundled.name[:12]} --store sqlite:////" in advice
    (tmp_path / "packed again.json.xz").write_bytes(lzma.compress(lzma.decompress(stale.read_bytes()), preset=0))
    assert main(["import", f"{tmp_path}/packed again.json.xz", "--store", f"sqlite:///{tmp_path}/t.db"]) == 0
    out = capsys.readouterr().out
    assert "trials imported" in out and "untrusted" not in out and "flag" not in out


def test_equal_explanations_of_trials_that_ship_are_one_object() -> None:
    abouts = [entry.about for file in read_each(SHIPPED) for entry in file.content.trials]
    assert len({id(about) for about in abouts}) == len({repr(about) for about in abouts}) < len(abouts) / 5


def join_shipped() -> tuple[File, list[AuditFinding], list[File]]:
    """Return the shipped bundles as what is imported of anybody's."""
    files = [read(path) for path in SHIPPED]
    return join(files), [], files


def test_a_file_that_ships_and_was_changed_by_a_byte_is_checked_like_any_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = bytearray(SHIPPED[0].read_bytes())
    packed[len(packed) // 2] ^= 1
    (tmp_path / "b.json.xz").write_bytes(packed)
    assert main(["import", str(tmp_path / "b.json.xz"), "--store", f"sqlite:///{tmp_path}/s.db"]) == 2
    assert "is not a complete xz file" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of files")
def test_a_store_that_cannot_be_written_to_is_told_before_any_file_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="longwave-", dir="/tmp") as folder:
        store, bundle = Path(folder, "s.db"), Path(folder, "b.json.xz")
        Store(f"sqlite:///{store}").close()
        bundle.write_bytes(b"no bundle")
        own = os.geteuid()
        store.chmod(0o444)
        Path(folder).chmod(0o555)
        with suppress(PermissionError):
            os.seteuid(65534 if own == 0 else own)
        try:
            assert main(["import", str(bundle), "--store", f"sqlite:///{store}"]) == 2
        finally:
            os.seteuid(own)
            Path(folder).chmod(0o755)
    err = capsys.readouterr().err
    assert "cannot be used" in err and "readonly" in err and err.count("\n") == 1
