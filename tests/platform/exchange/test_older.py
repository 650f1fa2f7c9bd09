"""Bundles of older versions: read as if they were of the present one, or refused by their own hashes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from old_store import old_store
from tree import ROOT

from longwave.platform.errors import ConfigError
from longwave.platform.exchange import intake
from longwave.platform.exchange.audit import audit
from longwave.platform.exchange.bundle import read
from longwave.platform.records.identity import sha256
from longwave.platform.storage.store import Store

OLD = [ROOT / f"tests/platform/exchange/old/{version}.json.gz" for version in (1, 2, 3)]
"""Made of all rows of the old store: by the Longwave that made it, by the last one before recipes were told, and by the
last one before curves were told by column."""
every = pytest.mark.parametrize("old", OLD, ids=["first", "second", "third"])


@every
def test_an_old_bundle_holds_the_trials_of_the_old_store_under_their_present_names(
    old: Path, tmp_path: Path, open_store: Callable[[str], Store]
) -> None:
    file, known = read(old), open_store(f"sqlite:///{old_store(tmp_path / 'old.db')}")
    stored = {t.config.id: t for t in known.trials_of([e.config.id for e in file.content.trials])}
    assert len(file.content.trials) == len(stored) > 30
    for entry in file.content.trials:
        trial = stored[entry.config.id]
        assert (entry.config, entry.about, entry.ended, entry.rerun) == (
            trial.config, trial.about, trial.ended, trial.rerun,
        )  # fmt: skip
        assert trial.run and entry.run.test == trial.run.test
        assert file.content.environments[entry.place or ""] == trial.run.environment
    assert sum(bool(entry.rerun) for entry in file.content.trials) == 1
    assert list(intake.conflicts(known, file)) == [] and intake.take(known, file, []) == []


@every
def test_an_old_bundle_passes_every_check_and_is_taken_up(old: Path, store: Store) -> None:
    file = read(old)
    assert [f.message for f in audit(file) if f.severity == "reject"] == []
    assert len(intake.take(store, file, [])) == len(file.content.trials)
    assert {t.origin for t in store.retrainings()} == {file.name}


def unhashed(file: dict[str, Any]) -> None:
    file["content"]["trials"][0]["run"]["seconds"] += 1.0


def unnamed(file: dict[str, Any]) -> None:
    file["name"] = "0" * 64


def unformed(file: dict[str, Any]) -> None:
    del file["content"]["trials"][0]["config"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (unhashed, r"is no bundle: trial \w+ has not the hash that the bundle says\."),
        (unnamed, r"is no bundle: the bundle's name is not the hash of its records\."),
        (unformed, r"is no bundle: it has not the form of version [123]: 'config'\."),
    ],
)
@every
def test_an_old_bundle_that_was_changed_is_refused_in_a_line(
    old: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    content = json.loads(gzip.decompress(old.read_bytes()))
    change(content)
    forged = tmp_path / "forged.json.gz"
    forged.write_bytes(gzip.compress(json.dumps(content, separators=(",", ":")).encode()))
    with pytest.raises(ConfigError, match=message):
        read(forged)


def test_an_old_bundle_whose_curve_lacks_an_epoch_is_refused(tmp_path: Path) -> None:
    file = json.loads(gzip.decompress(OLD[2].read_bytes()))
    entry = next(e for e in file["content"]["trials"] if len(e["points"]) > 2)
    del entry["points"][1]
    trial = entry["run"]["trial"]
    file["hashes"][f"trial {trial}"] = sha256(entry)
    file["name"] = sha256(file["hashes"])
    forged = tmp_path / "forged.json.gz"
    forged.write_bytes(gzip.compress(json.dumps(file, separators=(",", ":")).encode()))
    with pytest.raises(ConfigError, match=f"is no bundle: trial {trial} has a curve with missing or repeated epochs"):
        read(forged)
