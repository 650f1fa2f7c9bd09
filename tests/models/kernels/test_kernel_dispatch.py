"""How a time loop is chosen, what is said about it, and how the operator behaves towards torch."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from every_model import build
from kernel_cases import inputs, on_cpu
from torch import Tensor
from trials import present_trial

from longwave.models.gru import GRU
from longwave.models.indrnn import IndRNN
from longwave.models.kernels import dispatch, using
from longwave.models.kernels.op import scan, scan_op
from longwave.models.lem import LEM
from longwave.platform.registry import get_task
from longwave.platform.training.pack import Pack
from longwave.platform.training.train import train

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (LEM(1, 4).double(), "fused loops compute in float32, not in float64"),
        (LEM(1, 513), "d = 513 is above 512, where torch's own products are as fast"),
        (LEM(1, 4).to("meta"), "the tensors are on meta, the C++ loop runs on the CPU"),
    ],
)
def test_what_no_loop_is_fused_for_takes_the_reference_and_the_reason_is_said(layer: LEM, reason: str) -> None:
    assert str(layer.why()) == f"reference: {reason}"


def test_a_small_float32_layer_takes_the_compiled_loop() -> None:
    on_cpu(LEM(1, 4))
    assert str(LEM(1, 4).why()).startswith("cpu: the fused LEM loop, C++ for ")


def test_code_asks_for_a_way_and_the_innermost_block_counts() -> None:
    before = LEM(1, 4).why()
    with using("reference"):
        assert str(LEM(1, 4).why()) == "reference: requested by the code"
        with using("cpu"):
            on_cpu(LEM(1, 4))
            for nothing in ("", None):
                with using(nothing):
                    assert LEM(1, 4).why() == before
        assert LEM(1, 4).why().path == "reference"
    with pytest.raises(RuntimeError, match="gone wrong"), using("reference"):
        raise RuntimeError("gone wrong")
    assert LEM(1, 4).why() == before


def test_code_that_asks_for_an_unknown_way_is_told_the_known_ones() -> None:
    with (
        pytest.raises(ValueError, match=r"^The kernel must be one of reference, cpu, triton, got 'fast'\.$"),
        using("fast"),
    ):
        raise AssertionError("The block is not entered.")


def test_the_environment_variable_asks_for_a_way_is_read_once_and_yields_to_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own, other = "reference: requested by LONGWAVE_KERNEL", "reference: requested by the code"
    try:
        for requested, output in (
            ("reference", own),
            ("fast", "LONGWAVE_KERNEL must be one of reference, cpu, triton"),
        ):
            dispatch._environment.cache_clear()
            monkeypatch.setenv("LONGWAVE_KERNEL", requested)
            with using("reference"):
                assert str(LEM(1, 4).why()) == other
            with nullcontext() if output == own else pytest.raises(ValueError, match=f"{output}, got 'fast'"):
                assert str(LEM(1, 4).why()) == own
        dispatch._environment.cache_clear()
        monkeypatch.setenv("LONGWAVE_KERNEL", "reference")
        assert str(LEM(1, 4).why()) == own
        monkeypatch.setenv("LONGWAVE_KERNEL", "cpu")
        with using(None):
            assert str(LEM(1, 4).why()) == own
    finally:
        dispatch._environment.cache_clear()


def test_triton_without_a_gpu_falls_back_and_says_so() -> None:
    with using("triton"):
        way = LEM(1, 16).why()
    assert way.path == "reference" and "cpu" in way.reason.lower()


@pytest.mark.integration
def test_without_a_compiler_one_line_warns_and_the_reference_serves(tmp_path: Path) -> None:
    code = (
        "import torch\n"
        "from longwave.models.lem import LEM\n"
        "outputs, _ = LEM(1, 4)(torch.ones(5, 2, 1)); LEM(1, 4)(torch.ones(5, 2, 1))\n"
        "print(outputs.isfinite().all().item(), LEM(1, 4).why())\n"
    )
    env = {**os.environ, "CXX": "no-such-compiler", "TORCH_EXTENSIONS_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "True reference: it could not be compiled; see the warning"
    assert done.stderr.count("No fused CPU kernel: there is no C++ compiler (no-such-compiler) on PATH.") == 1


@pytest.mark.integration
def test_processes_that_compile_at_the_same_time_do_not_meet(tmp_path: Path) -> None:
    on_cpu(GRU(1, 4))
    code = "from longwave.models.gru import GRU; print(GRU(1, 4).why().path)"
    env = {**os.environ, "TORCH_EXTENSIONS_DIR": str(tmp_path)}
    start = [sys.executable, "-W", "error", "-c", code]
    both = [subprocess.Popen(start, env=env, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [p.communicate(timeout=200)[0].strip() for p in both] == ["cpu", "cpu"]
    assert len(list(tmp_path.rglob("*.so"))) == 1


@pytest.mark.integration
def test_a_library_that_was_cut_short_is_built_anew_and_one_line_says_so(tmp_path: Path) -> None:
    on_cpu(IndRNN(1, 4))
    code = (
        "import torch\n"
        "from longwave.models.indrnn import IndRNN\n"
        "print(IndRNN(1, 4).why().path, IndRNN(1, 4)(torch.ones(5, 2, 1))[0].isfinite().all().item())\n"
    )
    env, output = {**os.environ, "TORCH_EXTENSIONS_DIR": str(tmp_path)}, []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=200)
        assert done.stdout.strip() == "cpu True", done.stderr
        output.append(done.stderr.count("is damaged and is rebuilt."))
        (made,) = tmp_path.rglob("*.so")
        if len(output) == 1:
            made.write_bytes(made.read_bytes()[: made.stat().st_size // 2])
    assert output == [0, 1, 0]


def operands(case: str) -> tuple[object, ...]:
    """Return arguments of the operator for a small layer."""
    layer = build(case, 5)
    on_cpu(layer)
    caught: list[tuple[object, ...]] = []
    x, state = inputs(layer, 4, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("longwave.models.kernels.dispatch.traced", lambda: True)
        patch.setattr("longwave.models.kernels.dispatch.scan", lambda *a: caught.append(a) or scan(*a))
        layer(x, state)
    return caught[0]


@pytest.mark.parametrize("case", ["lem", "tau_gru", "gru", "lru"])
def test_torch_s_own_checks_of_an_operator_pass(case: str) -> None:
    arguments = [a.detach().requires_grad_() if isinstance(a, Tensor) else a for a in operands(case)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # opcheck's own imports
        checked = torch.library.opcheck(scan_op, tuple(arguments))
    assert set(checked.values()) == {"SUCCESS"}


def test_a_compiled_program_gives_the_same_numbers() -> None:
    arguments = [a.detach().requires_grad_() if isinstance(a, Tensor) else a for a in operands("lem")]

    def loss(*args: object) -> Tensor:
        total: Tensor = scan(*args)[0].square().mean()  # type: ignore[arg-type]
        return total

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    weights = arguments[5]
    assert isinstance(weights, Tensor)
    assert torch.equal(compiled(*arguments), loss(*arguments))
    first, second = (torch.autograd.grad(f(*arguments), weights)[0] for f in (loss, compiled))
    assert torch.equal(first, second)


def test_a_mapped_axis_is_folded_into_the_members() -> None:
    cell, path, *tensors, lags, _ = (a.detach() if isinstance(a, Tensor) else a for a in operands("lem"))
    steps = torch.tensor([[[0.3], [0.7]], [[1.0], [0.1]], [[0.5], [0.5]]])

    def outputs(P: Tensor) -> Tensor:
        result: Tensor = scan(cell, path, *tensors[:4], P, *tensors[5:], lags, False)[0]  # type: ignore[arg-type]
        return result

    assert torch.equal(torch.vmap(outputs)(steps), torch.stack([outputs(P) for P in steps]))


def test_a_second_derivative_says_where_it_is_to_be_had() -> None:
    layer = LEM(1, 4)
    on_cpu(layer)
    x = torch.randn(5, 2, 1, requires_grad=True)
    (slope,) = torch.autograd.grad(layer(x)[0].sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="first derivatives only; for second ones run the layer inside"):
        torch.autograd.grad(slope.sum(), x)


@pytest.mark.integration
def test_training_steps_follow_the_reference() -> None:
    config = present_trial("fitzhugh_nagumo", "", "here", "lem", {}, {"lr": 9e-3, "dt": 1.0}, 16, 32, 1, "search", 1)
    data, curves = get_task("fitzhugh_nagumo").load(""), []
    for way in ("reference", "cpu"):
        pack, losses = Pack([config], data, CPU), []
        with using(way):
            while len(losses) < 16:
                pack.step = 0
                pack.train_epoch(lambda pack=pack, losses=losses: losses.append(pack.loss.item()))  # type: ignore[misc]
        curves.append(losses)
    assert curves[1] == pytest.approx(curves[0], rel=1e-3)


@pytest.mark.slow
def test_lem_learns_fitzhugh_nagumo_in_the_400_epochs_of_its_paper() -> None:
    recipe, ended = get_task("fitzhugh_nagumo").recipe("lem"), []
    assert (recipe.hidden, recipe.batch, recipe.epochs) == (16, 32, 400)
    params = {"lr": 0.00904, "dt": 1.0}
    config = present_trial("fitzhugh_nagumo", "", "here", "lem", {}, params, 16, 32, recipe.epochs, "retrain", 1)
    train([config], lambda report: ended.extend(report.runs))
    assert ended[0].environment["kernel"].startswith(LEM(2, 16).why().path)
    assert ended[0].test <= 4e-3
