"""Files of others that would take long, or much memory: refused while they are read, in bounded time and memory."""

from __future__ import annotations

import json
import lzma
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError
from longwave.platform.exchange import limits
from longwave.platform.exchange.bundle import read
from longwave.platform.exchange.reading import check_json
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.file.schema import SweepFile

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
    "trials.0.config: is missing": bomb(trials=", ".join(["{}"] * 200_000) + f', "{NOISE}"'),
    "hashes: must be a table": bomb().replace(b'"hashes": {}', b'"hashes": 1'),
    "has 50,000 entries in a place where 1,000": bomb(json.dumps({"config": dict.fromkeys(map(str, range(50_000)))})),
    "patches.a: must be a string": bomb(trials="", patches='"a": 1, "b": 2'),
    "more than 24 objects and lists within each other": b'{"content": ' + b"[" * 5000,
    "premature EOF": b'{"content": "' + rb"\"" * 300_000,
    "is no JSON: .*overflow": b'{"content": {"sweeps": [{"content": {"seed": 1e999}}]}}',
    "is no JSON: parse error: integer overflow": b'{"content": ' + b"1" * 5000 + b"}",
}


@pytest.mark.parametrize("message", BOMBS)
def test_a_bomb_is_refused_in_one_line(tmp_path: Path, message: str) -> None:
    (tmp_path / "b").write_bytes(lzma.compress(BOMBS[message]))
    with pytest.raises(ConfigError, match=message) as caught:
        read(tmp_path / "b")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


READ = """
import resource, sys, time
from pathlib import Path
from longwave.platform.errors import ConfigError
from longwave.platform.exchange.bundle import read
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
try:
    read(Path(sys.argv[1]))
except ConfigError as error:
    took = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, time.process_time() - start
    print(took[0] >> 10, took[1], error)
"""
DIGITS = bytes(48 + k % 10 for k in range(256))


def many_values() -> bytes:
    """Return a list of twelve million digits, which no packer makes small."""
    text = bytearray(b",") * 24_000_000
    text[::2] = random.Random(0).randbytes(12_000_000).translate(DIGITS)
    return b'{"content": [' + text + b"0]}"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (many_values, "has more than 8,000,000 values"),
        (lambda: b'"' + random.Random(0).randbytes(2**24).hex().encode(), "a text or a number of more than 4,194,304"),
        (lambda: b'{"a": "' + rb"\"" * 20_000_000 + NOISE.encode() * 8, "unpacks to more than 100 times|a text or a"),
    ],
    ids=["values", "text", "quotes"],
)
def test_a_large_bomb_takes_seconds_and_little_memory(tmp_path: Path, text: object, message: str) -> None:
    (tmp_path / "b").write_bytes(lzma.compress(text(), preset=0))  # type: ignore[operator]
    command = [sys.executable, "-c", READ, str(tmp_path / "b")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    mebibytes, seconds, reason = done.stdout.split(" ", 2)
    assert re.search(message, reason), reason
    assert int(mebibytes) < 400 and float(seconds) < 20


def test_values_depth_texts_and_width_are_counted_while_a_file_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, limit in (("VALUES", 100), ("DEPTH", 4), ("LENGTH", 20), ("WIDE", 10)):
        monkeypatch.setattr(limits, name, limit)
    path, texts = Path("x"), b'["{[,\\"{[", {"a": [1, 2]}]'
    assert check_json([texts[:9], texts[9:]], path) == texts
    assert check_json([b"[%s]" % b",".join([b"1"] * 90)], path, {()}), "a place that may be wide"
    refused = {
        b"[%s1]" % (b"1," * 200): "x has more than 100 values: it is not read",
        b"[[[[[1]]]]]": "x has more than 4 objects and lists within each other",
        b'{"a": "%s"}' % (b"b" * 21): "x has a text of more than 20 characters",
        b'{"%s": 1}' % (b"b" * 21): "x has a text of more than 20 characters",
        b'{"a": [%s1]}' % (b"1," * 10): "x has 11 entries in a place where 10 at most can be",
        b'["a\\u0000"]': "x holds the character NUL in a text",
        b'["\\\\u0000", 1e999]': r"x is no JSON: parse error: numeric .floating point. overflow",
        b"[1] 2": "x is no JSON: parse error: trailing garbage",
        b"[1": "x is no JSON: parse error: premature EOF|x is no JSON: Incomplete JSON",
        b'["\xff"]': "x is no JSON: lexical error: invalid bytes in UTF8 string",
    }
    for text, message in refused.items():
        with pytest.raises(ConfigError, match=message):
            check_json([text], path, {()})
    with pytest.raises(ConfigError, match="x has a text or a number of more than 20 bytes"):
        check_json([b'["'] + [b"b" * 8] * 4, path)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are files there")
def test_a_pipe_a_device_and_a_folder_are_refused_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "edition").mkdir()
    os.mkfifo(tmp_path / "edition/manifest.json")
    store = ["--store", f"sqlite:///{tmp_path}/s.db"]
    for path, kind in (("pipe", "a pipe"), ("/dev/zero", "a device"), ("edition", "manifest.json is a pipe")):
        assert main(["import", str(tmp_path / path), *store]) == 2
        line = capsys.readouterr().err
        assert kind in line and "Write its content to a file" in line and line.count("\n") == 1
    assert not (tmp_path / "s.db").exists()


def test_cells_are_counted_without_being_made_and_a_grid_is_a_table() -> None:
    file = {"name": "a", "task": "adding", "models": ["gru", "lem"], "trials": 1}
    grid = {f"k{k}": list(range(10)) for k in range(12)}
    assert SweepFile.model_validate({**file, "grid": grid}).cell_count == 2 * 10**12
    with pytest.raises(ConfigError, match=r"a: trials: a sweep has at most 2,000,000 in all, got 12,000,000,000,000"):
        check_sweep({**file, "grid": grid}, "a")
    assert check_sweep({**file, "model": {"gru": {"grid": {"hidden": [1, 2]}}}}, "a").cell_count == 3
    with pytest.raises(ConfigError, match=r"a: model.gru: grid: must be a table, got 5"):
        check_sweep({**file, "model": {"gru": {"grid": 5}}}, "a")
