"""Bundles: what goes in comes out, for ever from 0.2.0 on, and forged ones are rejected or flagged."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from bundles import Content, built, content, forge, named, of
from forgeries import FORGED, a_seed_of_choice
from rich.console import Console
from tree import ROOT

from longwave.platform.errors import ConfigError
from longwave.platform.exchange import intake, limits
from longwave.platform.exchange.audit import audit
from longwave.platform.exchange.bundle import Bundle, File, pack, read, read_together, seal, write
from longwave.platform.exchange.collect import collect
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import driver

SWEEP = {"name": "tiny", "task": "adding", "variant": "N=20", "models": ["lem", "gru"], "trials": 3, "retrain": 3}
SIZES = {"hidden": 8, "batch": 10, "steps": 5, "epochs": 4}
KEPT = ROOT / "tests/platform/exchange/kept/0.2.0.json.xz"
"""What ``longwave submit`` wrote in 0.2.0 of two models' searches and retrainings: it is never written anew."""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with one row each of LEM and GRU, of three retrainings."""
    folder = tmp_path_factory.mktemp("swept")
    url = f"sqlite:///{folder}/store.db"
    with Store(url) as store:
        file = check_sweep({**SWEEP, **SIZES}, "tiny.toml")
        driver.start_sweep(file, store, Workers(1, folder, here=True), None, Console(file=io.StringIO()))
    return url


@pytest.fixture(scope="module")
def genuine(swept: str) -> File:
    """A bundle of both rows."""
    with Store(swept) as store:
        return seal(collect(store))


def lines_of(file: File, severity: str) -> list[str]:
    """Return what an audit says of a bundle, with the name of the check before each line."""
    return [f"{f.check}: {f.message}" for f in audit(file) if f.severity == severity]


@pytest.fixture(scope="module")
def unsearched(tmp_path_factory: pytest.TempPathFactory) -> File:
    """A bundle of a row whose settings a sweep file fixed."""
    folder = tmp_path_factory.mktemp("unsearched")
    with Store(f"sqlite:///{folder}/store.db") as store:
        fixed = {"models": ["gru"], "trials": 0, "space": {"gru": {"lr": 0.01}}}
        file = check_sweep({**SWEEP, **SIZES, **fixed}, "tiny.toml")
        driver.start_sweep(file, store, Workers(1, folder, here=True), None, Console(file=io.StringIO()))
        return seal(collect(store))


def test_a_row_without_a_search_passes_and_one_with_seeds_of_its_own_does_not(unsearched: File) -> None:
    assert [e.config.phase for e in unsearched.content.trials] == ["retrain"] * 3
    assert not lines_of(unsearched, "reject")
    line = "plan: sweep tiny, gru: its retrainings have seeds that do not follow from the sweep."
    assert line in lines_of(forge(unsearched, a_seed_of_choice), "reject")


def test_a_bundle_of_a_real_sweep_holds_all_that_is_behind_its_rows_and_passes_every_check(
    genuine: File, swept: str
) -> None:
    phases = [entry.config.phase for entry in genuine.content.trials]
    assert (phases.count("search"), phases.count("retrain")) == (6, 6)
    assert all([p.epoch for p in e.points] == [1, 2, 3, 4] for e in genuine.content.trials)
    assert [len(s.trials) for s in genuine.content.sweeps] == [12]
    assert audit(genuine) == []
    with Store(swept) as store:
        assert {e.config.id for e in genuine.content.trials} == {t.config.id for t in store.trials("tiny")}


def test_one_row_brings_the_search_of_its_model_alone(swept: str) -> None:
    with Store(swept) as store:
        [row] = {t.config.row for t in store.retrainings("adding") if t.config.model == "gru"}
        file = seal(collect(store, "adding", [row[:8]]))
    assert {e.config.model for e in file.content.trials} == {"gru"} and len(file.content.trials) == 6
    assert audit(file) == []


def test_a_row_that_does_not_exist_is_named(store: Store) -> None:
    with pytest.raises(ConfigError, match="There is no row of adding in the store"):
        collect(store, "adding")


def test_a_file_is_read_as_it_was_written_and_equal_content_gives_equal_bytes(genuine: File, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(genuine, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert read(tmp_path / "a") == genuine
    again = built(named(content(genuine)))
    assert seal(again) == genuine, "naming everything anew changed a genuine bundle"


def test_a_score_edited_without_its_hash_is_rejected(genuine: File) -> None:
    changed = content(genuine)
    trial = of(changed)[0]["run"]["trial"]
    of(changed)[0]["run"]["test"] *= 0.9
    file = genuine.model_copy(update={"content": built(changed)})
    [record, name] = lines_of(file, "reject")
    assert record == f"hashes: trial {trial} does not match its hash in the bundle."
    assert name == "hashes: the bundle's name is not the hash of its records."


@pytest.mark.parametrize(("change", "severity", "message"), FORGED, ids=[case[0].__name__ for case in FORGED])
def test_a_forged_bundle_is_rejected_or_flagged(
    genuine: File, change: Callable[[Content], None], severity: str, message: str
) -> None:
    lines = lines_of(forge(genuine, change), severity)
    assert any(re.match(message, line) for line in lines), lines
    assert all(line.count("\n") == 0 for line in lines)


def test_a_configuration_that_is_not_what_its_name_hashes_is_rejected(genuine: File) -> None:
    changed = content(genuine)
    of(changed)[0]["config"]["params"]["lr"] = 0.5
    lines = lines_of(seal(built(changed)), "reject")
    assert any(re.match(r"identity: trial \w+ has a configuration whose hash is", line) for line in lines)


def test_facts_that_are_not_what_their_name_hashes_are_rejected(genuine: File) -> None:
    changed = content(genuine)
    next(iter(changed["environments"].values()))["commit"] = "0" * 40
    lines = lines_of(seal(built(changed)), "reject")
    assert any(re.match(r"identity: environment \w+ has facts whose hash is", line) for line in lines)


def test_a_score_beyond_the_unit_is_rejected(genuine: File) -> None:
    def below_zero(changed: Content) -> None:
        of(changed)[0]["run"]["test"] = -0.5

    assert any("has a metric outside [0, 1e+150]." in line for line in lines_of(forge(genuine, below_zero), "reject"))


def curve(file: dict[str, Any]) -> dict[str, Any]:
    """Return the curve of a file's first trial."""
    columns: dict[str, Any] = file["content"]["trials"][0]["curve"]
    return columns


WRONG: Sequence[tuple[Callable[[dict[str, Any]], object], str]] = (
    (
        lambda f: f.update(version=5),
        r"must be 4, got 5\. .* A newer Longwave may read a newer one\.",
    ),
    (lambda f: f.update(version=3), r"got 3\. Bundles from before 0\.2\.0 are not read\. .*: longwave submit NAME"),
    (lambda f: f.update(format="zip"), "format: must be 'longwave bundle', got 'zip'"),
    (lambda f: f.pop("hashes"), "hashes: is missing"),
    (lambda f: f.update(extra=1), "extra: is not a key that is allowed here, got 1"),
    (lambda f: f["content"]["trials"][0]["config"].update(code="x"), "code: Unexpected keyword argument, got 'x'"),
    (lambda f: f["content"]["trials"][0]["run"].update(status="diverged"), "give a reason exactly when not ok"),
    (lambda f: f["content"]["trials"][0]["run"].update(status="won"), "content.trials.0.run.status: must be"),
    (lambda f: f["content"]["trials"][0]["run"].update(valid=None), "an ok trial has a validation metric"),
    (lambda f: f["content"]["trials"][0]["run"].update(valid=float("nan")), "is no JSON: lexical error"),
    (lambda f: f["content"]["trials"][0]["run"].update(valid="0.1"), "run.valid: must be a number"),
    (lambda f: curve(f)["loss"].__setitem__(0, float("inf")), "is no JSON: lexical error"),
    (lambda f: curve(f)["valid"].__setitem__(0, 1e300), "0.curve.valid: a number in it is no float32"),
    (lambda f: curve(f)["at"].pop(), r"curve: loss, valid, seconds and at have one number an epoch, got"),
    (lambda f: curve(f).update(epoch=[1, 2, 3, 4]), "0.curve.epoch: is not a key that is allowed here"),
    (
        lambda f: f["content"]["trials"][0]["about"].update(unit="\0"),
        "holds the character NUL in a text: it is not read",
    ),
    (lambda f: f["content"]["trials"][0]["about"].update(model=["LEM"]), "about.model: must be a string"),
    (
        lambda f: f["content"]["trials"][0]["about"].update(departures=[1]),
        "departures.0: must be a strin",
    ),
    (
        lambda f: f["content"]["trials"][0]["about"].update(goal="up"),
        "about: A goal is max or min, got 'u",
    ),
    (lambda f: f["content"]["trials"][0]["about"].update(version=3), "the version is 1 to 2, got . and 3"),
    (lambda f: f["content"]["trials"][0]["about"].update(layers=-1), "Layers are at least 0 .*, got -1 and 2"),
    (lambda f: f["content"]["trials"][0]["about"].update(floor=-1.0), "a floor at least 0, .*, got 1.25 and -1"),
    (lambda f: f["content"]["trials"][0]["about"].update(margin=0.0), "A margin is above 0 .*, got 0.0 and"),
    (lambda f: f["content"]["sweeps"][0]["content"].update(seed=float("nan")), "is no JSON: lexical error"),
)


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[message for _, message in WRONG])
def test_what_has_not_a_bundles_form_is_named_in_one_line(
    genuine: File, tmp_path: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    data = json.loads(genuine.model_dump_json())
    change(data)
    (tmp_path / "file").write_bytes(lzma.compress(json.dumps(data).encode()))
    with pytest.raises(ConfigError, match=message) as caught:
        read(tmp_path / "file")
    assert str(caught.value).count("\n") == 0


def test_what_is_no_whole_packed_json_is_refused(genuine: File, tmp_path: Path) -> None:
    file = tmp_path / "file"
    write(genuine, file)
    packed = file.read_bytes()
    cases = {
        "is not a complete xz file: it ends too early": packed[: len(packed) // 2],
        "is not a complete xz file: 7 bytes follow its end": packed + b"garbage",
        "is not a complete xz file: Input format not supported": b"PK\x03\x04" * 9,
        "is a gzip file. Bundles from before 0.2.0 are not read. .*: longwave submit NAME": gzip.compress(b"{}"),
        "is not a complete xz file: Memory usage limit": lzma.compress(b"{}", preset=9),
        "is no JSON: lexical error": lzma.compress(b"{'a': 1}"),
        "more than 24 objects and lists within each other": lzma.compress(b"[" * 100_000),
    }
    for message, data in cases.items():
        file.write_bytes(data)
        with pytest.raises(ConfigError, match=message):
            read(file)
    with pytest.raises(ConfigError, match="Cannot read .*absent: No such file or directory"):
        read(tmp_path / "absent")


@pytest.mark.integration
def test_a_bundle_that_unpacks_to_more_than_the_limit_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, genuine: File
) -> None:
    monkeypatch.setattr(limits, "BYTES", 2**20)
    (tmp_path / "bomb").write_bytes(lzma.compress(b" " * 2**26))
    with pytest.raises(ConfigError, match="is larger than 1 MiB unpacked"):
        read(tmp_path / "bomb")
    (tmp_path / "packed").write_bytes(bytes(2**20 + 1))
    with pytest.raises(ConfigError, match="packed is larger than 1 MiB, the limit for a bundle"):
        read(tmp_path / "packed")
    monkeypatch.setattr(limits, "BYTES", 2**10)
    with pytest.raises(ConfigError, match="0 at most: submit fewer rows"):
        write(genuine, tmp_path / "large")
    assert not (tmp_path / "large").exists()


@pytest.mark.integration
def test_a_bundle_of_0_2_0_is_read_checked_imported_and_written_again_as_it_is(store: Store) -> None:
    file = read(KEPT)
    assert [finding for finding in audit(file) if finding.severity == "reject"] == []
    assert intake.import_bundle(store, file) == len(file.content.trials) == 8
    assert seal(collect(store)) == file
    assert lzma.decompress(pack(file)) == lzma.decompress(KEPT.read_bytes())


def test_bundles_that_are_too_large_together_are_refused(
    genuine: File, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(genuine, tmp_path / "a")
    size = len(lzma.decompress((tmp_path / "a").read_bytes()))
    monkeypatch.setattr(limits, "TOGETHER", 2 * size)
    assert read_together([tmp_path / "a"] * 2) == [genuine] * 2
    with pytest.raises(ConfigError, match="The bundles up to .*a hold more than 0 MiB: import fewer"):
        read_together([tmp_path / "a"] * 3)


def leaves(value: Any) -> list[tuple[Any, Any]]:
    """Return every place of a JSON value where something else could stand."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [leaf for key in keys for leaf in leaves(value[key])]


@pytest.mark.integration
def test_whatever_stands_anywhere_is_found_or_can_be_known_by_training_alone(genuine: File) -> None:
    draw = random.Random(0)
    values = [None, True, -1, 0, 2**70, 1e308, -0.5, "", "<b>", "ok", "failed", "\u2028", [], {}, [1], {"lr": 1}]
    checked = 0
    for _ in range(150):
        changed = json.loads(genuine.content.model_dump_json())
        curves = [id(column) for entry in changed["trials"] for column in entry["curve"].values()]
        parent, key = draw.choice(leaves(changed))
        before, parent[key] = parent[key], draw.choice(values)
        try:
            file = seal(Bundle.model_validate_json(json.dumps(changed)))
        except ValueError:
            continue
        checked += 1
        unknowable = id(parent) in curves or key in ("seconds", "test", "valid", "trivial")
        assert audit(file) or unknowable or before == parent[key], f"{key}: {before} became {parent[key]}."
    assert checked > 20, "most draws have no bundle's form, and are refused before the audit"
