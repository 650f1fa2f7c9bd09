"""Bombs: small files that would become large are refused before anything is built of them."""

from __future__ import annotations

import json
import lzma
import random
import subprocess
import sys
from pathlib import Path

import pytest

from longwave.platform.errors import ConfigError
from longwave.platform.exchange import limits
from longwave.platform.exchange.bundle import read
from longwave.platform.exchange.limits import check_count
from longwave.platform.sweeps.file.schema import SweepFile, check_sweep

HEAD = (
    '{"format": "longwave bundle", "version": 4, "name": "", "hashes": {}, "content": {"trials": [%s], "sweeps": [%s], '
)
TAIL = '"environments": {%s}, "patches": {%s}}}'
NOISE = random.Random(0).randbytes(60_000).hex()
"""Keeps a file from shrinking, as a careful forger would."""


def bomb(trials: str = "", sweeps: str = "", environments: str = "", patches: str = "") -> bytes:
    return ((HEAD + TAIL) % (trials, sweeps, environments, patches)).encode()


BOMBS = {
    "unpacks to more than 100 times": bomb(trials=", ".join(["{}"] * 10**6)),
    "trials.0.config: Field required": bomb(trials=", ".join(["{}"] * 200_000) + f', "{NOISE}"'),
    "has 100000 patches for 0 trials": bomb(patches=", ".join(f'"{k}": ""' for k in range(100_000))),
    "has 1 sweeps for 0 trials": bomb(sweeps="{}"),
    "something in it has 50000 entries": bomb(trials=json.dumps({"config": dict.fromkeys(map(str, range(50_000)))})),
    "hashes, facts and patches are texts": bomb(trials="{}", patches='"a": 1'),
    "recursion limit": b'{"content": ' + b"[" * 5000,
    "recursion": b'{"version":1, "content": ' + b"[" * 5000 + b"]" * 5000 + b"}",
}


@pytest.mark.parametrize("message", BOMBS)
def test_a_bomb_is_refused_in_one_line(tmp_path: Path, message: str) -> None:
    (tmp_path / "b").write_bytes(lzma.compress(BOMBS[message]))
    with pytest.raises(ConfigError, match=message) as caught:
        read(tmp_path / "b")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


def test_a_bomb_takes_little_memory(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(lzma.compress(bomb(trials=", ".join(["{}"] * 400_000) + f', "{NOISE}"')))
    code = (
        "import resource, sys; from pathlib import Path; from longwave.platform.exchange.bundle import read\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: read(Path(sys.argv[1]))\n"
        "except Exception: print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "b")], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 400


def test_more_objects_or_values_than_any_bundle_has_are_counted_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "OBJECTS", 10)
    monkeypatch.setattr(limits, "VALUES", 100)
    check_count(b'["' + b"{[," * 1000 + b'\\"{"]', "x")  # what stands in texts does not count
    for text in (b"[" * 11, b"[" + b"1," * 101 + b"1]"):
        with pytest.raises(ConfigError, match="x has more than 10 objects or 100 values"):
            check_count(text, "x")


def test_cells_are_counted_without_being_made_and_a_grid_is_a_table() -> None:
    file = {"name": "a", "task": "adding", "models": ["gru", "lem"], "trials": 1}
    grid = {f"k{k}": list(range(10)) for k in range(12)}
    assert SweepFile.model_validate({**file, "grid": grid}).cells == 2 * 10**12
    with pytest.raises(ConfigError, match=r"a: trials: a sweep has at most 2,000,000 in all, got 12,000,000,000,000"):
        check_sweep({**file, "grid": grid}, "a")
    assert check_sweep({**file, "model": {"gru": {"grid": {"hidden": [1, 2]}}}}, "a").cells == 3
    with pytest.raises(ConfigError, match=r"a: model.gru: grid: Input should be a valid dictionary, got 5"):
        check_sweep({**file, "model": {"gru": {"grid": 5}}}, "a")
