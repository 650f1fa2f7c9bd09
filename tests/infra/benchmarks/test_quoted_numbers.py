"""The numbers that the pages about speed quote are those of the measurements."""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import geometric_mean
from typing import Any

import pytest
from tree import ROOT

FOLDER = ROOT / "infra/benchmarks"
README, SPEED, FRONT = (
    " ".join((ROOT / page).read_text(encoding="utf-8").split())
    for page in ("infra/benchmarks/README.md", "infra/docs/speed.md", "README.md")
)
CUDNN = {"lstm", "chrono_lstm", "gru", "tanh_rnn"}
"""Models whose plain loop is torch's own operator: over few steps, it takes longer to start than to run."""


def read_results(name: str) -> Any:
    """Return the content of a JSON file of measurements."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def format_range(values: Iterable[float], digits: int = 0) -> str:
    """Return the range of some numbers as a page quotes it."""
    numbers = [*values]
    return f"{min(numbers):.{digits}f} to {max(numbers):.{digits}f}"


def of_psmnist(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return LEM's line at T 784, B 128, d 128; empty if there is none."""
    sizes = {"steps": 784, "batch": 128, "hidden": 128}
    return next((line for line in lines if line["cell"] == "lem" and sizes.items() <= line["size"].items()), {})


@pytest.mark.parametrize("name", ["avx2", "avx512", "avx512-zen4", "avx512-zen5", "avx512-intel"])
def test_the_table_of_processors_has_the_numbers_of_its_files(name: str) -> None:
    found = read_results(f"cpu-{name}")
    line, last = of_psmnist(found["lines"]), of_psmnist(found.get("vanishing", []))
    ratios = [line["ratios"]["eager"], line["ratios"]["floor"], *([last["ratios"]["eager"]] if last else [])]
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    [row] = [row for row in text.splitlines() if row.startswith(f"| `cpu-{name}.json` |")]
    assert f"| {line['roofline']['peak']:.0f} | {' | '.join(f'{ratio:.2f}' for ratio in ratios)} |" in row


def test_the_slow_numbers_of_intel_are_those_measured() -> None:
    found = read_results("cpu-avx512-intel")["vanishing"]
    models = [line for line in found if line["size"]["steps"] == 500 and line["cell"].isidentifier()]
    kept, flushed = (sum(m["forward"] + m[name] for m in models) for name in ("kept", "backward"))
    assert f"{of_psmnist(found)['ratios']['kept']:.0f} times as long at this size" in README
    assert f"passes of all {len(models)} recurrent models together {kept / flushed:.1f} times" in README
    assert f"passes of all recurrent models together {kept / flushed:.1f} times" in SPEED


def test_the_ranges_of_linear_recurrences_and_matrix_loops_are_those_measured() -> None:
    linear, matrix = read_results("linear-recurrences"), read_results("matrix-loops")["times"]
    times = linear["times"]
    assert f"is {format_range(t['loop'] / t['fused'] for t in times)} times as fast as the eager loop" in README
    assert f"and {format_range(t['scan'] / t['fused'] for t in times)} times as fast as an eager scan" in README
    assert f"T to the power {format_range((t['exponent'] for t in times), 2)} up to" in README
    low, high = (one(piece["cut"] / piece["whole"] for piece in linear["pieces"]) for one in (min, max))
    assert f"took {low:.1f} to {high:.0f} times as long as the loop" in README
    whole = format_range(t["plain_layer"] / t["layer"] for t in matrix)
    assert (
        f"{format_range(t['loop'] / t['fused'] for t in matrix)} times as fast as the plain one, and a whole layer"
        in README
    )
    assert f"a whole layer {whole} times" in README and f"a whole layer: {whole} times" in SPEED


def test_the_ranges_of_the_gpu_are_those_measured() -> None:
    found = read_results("nvidia-h200")
    parts: dict[str, list[float]] = defaultdict(list)
    for line in found["speeds"]:
        if line["model"] not in CUDNN:
            part = "matrix" if line["size"].startswith("T=1000") else "loop"
            parts[part].append(sum(line["plain"]) / sum(line["ours"]))
    assert f"{min(parts['loop']):.0f} (minGRU) to {max(parts['loop']):.0f} times as fast as the plain one" in SPEED
    assert f"T 1000, B 32, d 64, {format_range(parts['matrix'])} times" in SPEED
    lines = [line for line in found["kernels"]["lines"] if of_psmnist([{**line, "cell": "lem"}])]
    assert len({line["cell"].partition("_e")[0].partition("_r")[0] for line in lines}) == 7
    assert f"of seven models are {format_range(line['ratios']['eager'] for line in lines)} times" in FRONT


def test_no_other_number_of_warps_or_values_is_faster_by_more_than_quoted() -> None:
    found, code = read_results("nvidia-h200"), (ROOT / "models/kernels/triton/row.py").read_text(encoding="utf-8")
    ours = ast.literal_eval(re.findall(r"^WARPS = (.*)$", code, re.MULTILINE)[0])  # importing it would import Triton
    seconds = {(w["cell"], w["d"], w["batch"], w["warps"]): w["forward"] + w["backward"] for w in found["warps"]}
    gains: dict[tuple[int, int], list[float]] = defaultdict(list)
    for (cell, d, batch, warps), other in seconds.items():
        if warps != ours[d]:
            gains[d, warps].append(seconds[cell, d, batch, ours[d]] / other - 1)
    means = [geometric_mean(1 + gain for gain in part) - 1 for part in gains.values()]
    assert f"more than {max(means):.0%} faster than ours on average".replace("%", " %") in README
    assert f"it is up to {max(map(max, gains.values())):.0%} faster".replace("%", " %") in README
    tiles = {(t["case"], t["thread"]): sum(t["ours"]) for t in found["tiles"]}
    faster = {case: f"{tiles[case, 32] / tiles[case, 64] - 1:.0%}" for case, _ in tiles}
    assert f"are {faster.pop('mlstm').replace('%', ' %')} faster for mLSTM" in README
    assert all(gain.startswith("-") for gain in faster.values())


def test_the_times_of_boards_are_those_measured() -> None:
    seconds = {
        line["path"]: line["ms"] / 1000 for line in read_results("boards") if line["name"] == "boards of all tasks"
    }
    assert f"take {seconds['sqlite']:.1f} s from SQLite" in SPEED
    assert f"and {seconds['postgresql']:.2f} s from PostgreSQL" in SPEED
