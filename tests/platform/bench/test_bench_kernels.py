"""The benchmark of kernels: are its plain loops the layers, its counts right, its output whole? No time is judged."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from longwave.models.base.layer import State
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import Sizes
from longwave.models.chrono_lstm import MODEL as CHRONO_LSTM
from longwave.models.exprnn import MODEL as EXPRNN
from longwave.models.kernels.cpu import run
from longwave.models.lem import LEM
from longwave.models.unicornn import UnICORNN
from longwave.platform.bench import sweep as bench
from longwave.platform.bench.floors import PRODUCTS, Products, gpu_floor, multiply_adds, processor_floor
from longwave.platform.bench.kernels import plan_benchmark, run_benchmark
from longwave.platform.bench.loops import PlainLoop
from longwave.platform.bench.peers import worst_error
from longwave.platform.bench.report import KernelReport, Timing, judge_targets
from longwave.platform.bench.sizes import FITZHUGH, LAYERS, PSMNIST, Size, make_layer
from longwave.platform.bench.vanishing import OTHER, LastStep, Vanishing, gain_text, keep_subnormals, measure_vanishing
from longwave.platform.cli.main import main
from longwave.platform.registry import shipped_models
from longwave.platform.sweeps.on_ray.plain_tune import run_plain
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.training.environment import flushing_subnormals, subnormals, use_threads

SMALL, CPU = Size(12, 3, 2, 5, lag=4), torch.device("cpu")
QUICK = ["bench", "kernels", "--device", "cpu", "--size", "7,3,2,4", "--repeats", "1", "--seconds", "0", "--no-compile"]
ABSENT = "ray optuna mlflow sqlalchemy alembic streamlit safetensors platformdirs psutil pandas scipy sklearn"
PROGRAM = """
import sys
absent, shell, arguments = {absent!r}.split(), ["typer", "rich", "pydantic"], {arguments!r}
sys.modules.update(dict.fromkeys(absent + shell))
from longwave.platform.bench.kernels import plan_benchmark, run_benchmark
assert run_benchmark(plan_benchmark("cpu", ["lem"], ["3,2,1,4"], repeats=1, seconds=0.0, compile=False)).sound
for name in shell:  # the command itself is typer's, which brings pydantic
    del sys.modules[name]
from longwave.platform.cli.main import main
sys.exit(main(arguments))
"""
CHECKOUT = """
import torch
from scale import ONE  # a neighbour in the same folder


class LEM(torch.nn.Module):
    def __init__(self, ninp, nhid, nout, dt=1.0):
        super().__init__()
        self.inside, self.outside = torch.nn.Linear(ninp, nhid), torch.nn.Linear(nhid, nout)
        self.dt = dt * ONE

    def forward(self, x):
        return self.outside(self.dt * self.inside(x).cumsum(0)[-1])
"""


def numbers(content: object) -> Iterator[float]:
    """Return all numbers in JSON data."""
    if isinstance(content, (dict, list)):
        for part in content.values() if isinstance(content, dict) else content:
            yield from numbers(part)
    elif isinstance(content, (int, float)) and not isinstance(content, bool):
        yield content


def failed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that must fail; return its one line."""
    assert main([*QUICK, *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1, captured
    return captured.err


@pytest.mark.parametrize("cell", LAYERS)
def test_a_plain_loop_is_its_layer(cell: str) -> None:
    ours = make_layer(cell, SMALL, CPU).double()
    x = torch.randn(SMALL.shape, dtype=torch.float64, requires_grad=True, generator=torch.Generator().manual_seed(0))
    values = [run(x) for run in (PlainLoop(ours), lambda x: ours(x)[0])]
    torch.testing.assert_close(*values, rtol=1e-12, atol=1e-14)
    slopes = [torch.autograd.grad(y.square().sum(), x)[0] for y in values]
    torch.testing.assert_close(*slopes, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("cell", LAYERS)
def test_a_plain_loop_of_one_unit_is_its_layer(cell: str) -> None:
    ours = make_layer(cell, replace(SMALL, inputs=1, hidden=1), CPU).double()
    x = torch.randn(12, 3, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(PlainLoop(ours)(x), ours(x)[0], rtol=1e-12, atol=1e-14)


def test_a_plain_loop_is_of_one_layer_with_a_cell() -> None:
    several = UnICORNN(1, 4, dt=0.1, alpha=1.0, layers=2)
    for other in (several, EXPRNN.build(Sizes(1, 4, 1, 5)), LEM(1, 4, members=2), LEM(1, 4, multiscale=False)):
        with pytest.raises(ValueError, match=f"{type(other).__name__}: there is no plain loop of this layer"):
            PlainLoop(other)
    PlainLoop(CHRONO_LSTM.build(Sizes(1, 4, 1, 5)))


@pytest.mark.parametrize("cell", LAYERS)
def test_the_counted_multiply_adds_are_those_of_the_products(cell: str) -> None:
    products = Products(cell, SMALL, CPU)
    with FlopCounterMode(display=False) as counter:
        products.forward()
        products.backward()
    assert counter.get_total_flops() == 2 * SMALL.steps * multiply_adds(cell, SMALL)


def test_floors_are_those_of_the_design() -> None:
    for cell, loops, products in (("lem", 0.90, 0.34), ("cornn", 0.46, 0.17), ("tau_gru", 0.58, 0.34)):
        assert gpu_floor(cell, PSMNIST, 132) == pytest.approx(loops + products, abs=0.02)
    assert gpu_floor("lem", FITZHUGH, 132) == pytest.approx(0.40, abs=0.01)
    assert processor_floor("lem", FITZHUGH, 1e11) == pytest.approx(32 * (12 * 256 + 8 * 16) / 1e5)
    assert processor_floor("unicornn", FITZHUGH, 1e11) is None and not PRODUCTS["unicornn"]


def test_an_error_in_single_precision_alone_is_found() -> None:
    class Wrong(LEM):
        def step(self, u: tuple[torch.Tensor, ...], state: State, w: Any) -> State:
            y, z = super().step(u, state, w)
            return (y if y.dtype == torch.float64 else y * 1.001), z

    assert 1e-4 < worst_error(Wrong(2, 5), SMALL) < 1e-1
    assert worst_error(LEM(2, 5), SMALL) < 1e-6


def test_targets_are_judged_from_above_and_from_below() -> None:
    line = Timing("lem", PSMNIST, "cpu", "", 1e-7, 1.0, 2.0, 2.5, 1e11, 1.0, 5.0, None, 6.0, None, 200)
    assert line.ratios == pytest.approx({"floor": 3.0, "gemm": 1.2, "eager": 5 / 3, "lstm": 2.0})
    met = {t.bound: t.met for t in judge_targets(KernelReport({}, "cpu", lines=[line]))}
    assert met == {2.6: False, 1.5: True, 1.2: True}


def test_a_loss_on_the_last_step_has_targets_and_a_gain_in_words() -> None:
    lem = Vanishing("lem", PSMNIST, 10.0, 20.0, whole=25.0, kept=50.0, eager=90.0, fused=45.0, capped=200)
    lines = [
        lem,
        replace(lem, cell="gru", backward=30.0, kept=60.0),
        replace(lem, cell=OTHER, backward=100.0, kept=120.0, eager=None, fused=None),
        replace(lem, cell="gru", size=SMALL, backward=100.0, kept=400.0),
    ]
    assert lem.ratios == pytest.approx({"last": 0.8, "kept": 2.5, "eager": 2.0})
    assert lines[2].ratios == pytest.approx({"last": 4.0, "kept": 1.2})
    judged = [(t.what, t.ratio, t.bound, t.met) for t in judge_targets(KernelReport({}, "cpu", vanishing=lines))]
    assert judged == [
        (f"lem, {PSMNIST}, loss on the last step: times faster than the plain loop", 2.0, 2.6, False),
        ("slowest backward pass, loss on the last step over loss on all steps", 1.2, 1.15, False),
    ]
    assert "takes from 1.20 to 4.00 times as long as with them flushed, median 2.25." in gain_text(lines)


@pytest.mark.parametrize("cell", ["lem", "unicornn"])
def test_the_last_step_is_what_a_network_reads(cell: str) -> None:
    ours = make_layer(cell, SMALL, CPU)
    x = torch.randn(SMALL.shape)
    assert torch.equal(LastStep(ours)(x), ours(x)[0][-1]) and LastStep(PlainLoop(ours))(x).shape == (3, 5)


def test_every_recurrent_model_is_timed_with_a_gradient_that_vanishes() -> None:
    assert set(plan_benchmark("cpu").models) == {
        n for n, m in shipped_models().items() if issubclass(m.layer, Recurrence)
    }
    assert len(plan_benchmark("cpu").models) >= 22 and not plan_benchmark("cpu", ["lem"]).models
    with flushing_subnormals():
        line = measure_vanishing("fastrnn", Size(5, 2, 2, 3), repeats=1, seconds=0.0, cap=3)
    assert line.ratios.keys() == {"last", "kept"}, "It has no plain loop."


def test_a_contender_keeps_subnormals_and_those_after_it_flush_them() -> None:
    def once() -> tuple[float, float]:
        seen.append((subnormals(), run._flush))
        raise RuntimeError("no memory")

    seen: list[tuple[str, bool]] = []
    with use_threads(1), flushing_subnormals():
        with pytest.raises(RuntimeError, match="no memory"):
            keep_subnormals(once)()
        after = subnormals(), run._flush
    assert seen == [("kept", False)] and after == ("flushed", True)


def test_a_roofline_is_what_the_products_reach_of_the_peak() -> None:
    rate = 1e11
    floor = processor_floor("lem", PSMNIST, rate)
    line = Timing("lem", PSMNIST, "cpu", "", 1e-7, 100.0, 300.0, 2.5, rate, floor, 5.0, None, 6.0, None, 200)
    flops = 2 * multiply_adds("lem", PSMNIST) / 400e-6
    assert line.roofline == pytest.approx({"reached": flops / 1e9, "peak": 200.0, "share": flops / 2e11})
    assert replace(line, floor=None).roofline == {} == replace(line, rate=None).roofline


@pytest.mark.integration
def test_the_command_needs_torch_and_numpy_alone_and_writes_all_numbers(tmp_path: Path) -> None:
    (tmp_path / "scale.py").write_text("ONE = 1.0")
    (tmp_path / "network.py").write_text(CHECKOUT)
    arguments = [*QUICK, "--cell", "lem", "--cell", "unicornn", "--peer", str(tmp_path), "--out", str(tmp_path / "out")]
    code = PROGRAM.format(absent=ABSENT, arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert all(
        word in done.stdout
        for word in ("lem", "unicornn", "T=7 B=3 p=2 d=4", "GFlop/s", "× peer", "network.py", "kept / flushed", OTHER)
    )
    report = json.loads((tmp_path / "out").read_text())
    assert {"torch", "numpy", "triton", "python", "device", "commit"} <= set(report["versions"])
    assert report["sound"] and not report["failed"] and len(report["packs"]) == 2
    lem, unicornn = report["lines"]
    assert all(0 < n < float("inf") for n in numbers([report["lines"], report["vanishing"], report["packs"]]))
    assert {k for k, v in lem.items() if v is None} == {"compiled"}
    assert {k for k, v in unicornn.items() if v is None} == {"compiled", "peer", "floor"}
    assert report["versions"]["subnormals"] == "flushed"
    assert [line["cell"] for line in report["vanishing"]] == ["lem", "unicornn", OTHER]
    assert [set(line["ratios"]) for line in report["vanishing"]] == [{"last", "kept", "eager"}] * 2 + [{"last", "kept"}]
    assert set(lem["ratios"]) == {"floor", "gemm", "eager", "lstm", "peer"} and lem["error"] < 1e-5


def test_a_loop_that_fails_costs_its_own_line_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("no such kernel")

    monkeypatch.setitem(LAYERS, "gru", lambda *_, **__: fail())  # type: ignore[arg-type]
    plan = plan_benchmark("cpu", ["gru", "lstm"], ["5,2,1,3"], repeats=1, seconds=0.0, compile=False)
    messages: list[str] = []
    report = run_benchmark(plan, messages.append)
    assert [line.cell for line in report.lines] == ["lstm"] and not report.sound
    assert report.failed == ["checking gru, T=5 B=2 p=1 d=3: RuntimeError: no such kernel"]
    assert [line.cell for line in report.vanishing] == ["lstm", OTHER]
    assert [words.split()[0] for words in messages] == ["checking", "checking", *["timing"] * 3], "Errors come first."


def test_the_help_says_what_a_cell_and_a_size_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "kernels", "--help"]) == 0
    output = capsys.readouterr().out
    assert "--cell CELL " in output and "--size T,B,p,d " in output and "list[" not in output


def test_bad_input_gives_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "looked in the .py files under" in failed(capsys, "--peer", str(tmp_path))
    assert "no folder" in failed(capsys, "--peer", str(tmp_path / "absent"))
    (tmp_path / "network.py").write_text("import no_such_package\n" + CHECKOUT)
    assert "No module named 'no_such_package'" in failed(capsys, "--peer", str(tmp_path))
    assert "No cell 'lemm'. Did you mean lem or lstm?" in failed(capsys, "--cell", "lemm")
    assert "four whole numbers above 0, got '1,2,3,0'" in failed(capsys, "--size", "1,2,3,0")
    assert "four whole numbers above 0, got '²,1,1,1'" in failed(capsys, "--size", "²,1,1,1")
    (tmp_path / "network.py").write_text("raise SystemExit('only for Python 2')\n" + CHECKOUT)
    assert "SystemExit: only for Python 2" in failed(capsys, "--peer", str(tmp_path))
    assert "a file in an existing folder" in failed(capsys, "--out", str(tmp_path / "absent/out.json"))
    if not torch.cuda.is_available():
        assert "There is no CUDA device here" in failed(capsys, "--device", "cuda")


@pytest.mark.integration
def test_trials_per_hour_where_ray_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: object) -> float:
        raise ImportError("No module named 'ray'")

    monkeypatch.setattr(bench, "_ray_seconds", absent)
    ways, missing = bench.measure_throughput("lem", trials=1, epochs=1, processes=1)
    assert missing == "Plain Ray Tune was not measured: No module named 'ray'"
    assert [way.way.split(",")[0] for way in ways] == ["packs", "one at a time", "one at a time"]
    assert ways[0].ratio == 1.0 and all(w.per_hour == pytest.approx(3600 / w.seconds) for w in ways)


@pytest.mark.integration
def test_plain_trials_on_ray_return_what_they_yielded_last(tmp_path: Path) -> None:
    def count(config: int) -> Iterator[dict[str, float]]:
        yield {"value": 0.0}
        yield {"value": 10.0 * config}

    rows = run_plain(count, [3, 4], Workers(2, tmp_path))
    assert sorted(row["value"] for row in rows) == [30.0, 40.0] and not (tmp_path / "ray").exists()
