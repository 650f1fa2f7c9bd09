"""Fused loops over matrix states, against the same step in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from kernel_cases import on_cpu
from matrix_steps import STEPS, compile_step, delta_rule, draw_tensors, error, run_plain, with_gradients
from torch import Tensor

from longwave.models.kernels.cpu import run_matrix
from longwave.models.kernels.matrix.form import Form
from longwave.models.kernels.matrix.plan import MatrixPlan, plan
from longwave.models.lem import LEM


def advanced(made: MatrixPlan) -> Callable[[Any], list[Tensor]]:
    """Return what runs a fused loop on drives, states and constants, and gives outputs and last states in one list."""

    def run(tensors: Any) -> list[Tensor]:
        output, last = run_matrix.advance(made, *tensors)
        return [output, *last]

    return run


@pytest.fixture(autouse=True)
def compiles() -> None:
    """Skip where nothing can be compiled."""
    on_cpu(LEM(1, 4))


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    """Return what sets torch's threads; afterwards they are as many as before."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


TASKS = {"columns": 13, "heads": 1}
"""Sizes for which the lanes of vectors are tasks, if there are at least 16 sequences."""


@pytest.mark.integration
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("read", [slice(None), slice(0, 1), slice(1, None)], ids=["all", "outputs", "states"])
@pytest.mark.parametrize(("sizes", "B"), [({}, 3), (TASKS, 19)], ids=["lanes are columns", "lanes are tasks"])
def test_outputs_states_and_gradients_are_those_of_the_plain_loop_in_float64(
    name: str, read: slice, sizes: dict[str, int], B: int
) -> None:
    step, form, made = compile_step(name, **sizes)
    tensors = draw_tensors(form, T=37, B=B, M=2)
    truth, slopes = with_gradients(lambda t: run_plain(step, t), tensors, torch.float64, read)
    ours, ours_slopes = with_gradients(advanced(made), tensors, torch.float32, read)
    assert error(ours, truth) <= 1e-5
    assert error(ours_slopes, slopes) <= 1e-5


@pytest.mark.integration
@settings(max_examples=40, deadline=None)
@drawn(
    st.sampled_from(["delta rule", "all kinds", "selective"]),
    st.integers(1, 3),
    st.integers(1, 35),
    st.integers(1, 100),
    st.integers(1, 50),
    st.integers(1, 24),
)
def test_whatever_the_sizes(name: str, heads: int, rows: int, columns: int, T: int, B: int) -> None:
    step, form, made = compile_step(name, heads=heads, rows=rows, columns=columns)
    tensors = draw_tensors(form, T, B, M=1, seed=rows * columns + T)
    truth, slopes = with_gradients(lambda t: run_plain(step, t), tensors, torch.float64)
    ours, ours_slopes = with_gradients(
        lambda t: [(r := run_matrix.advance(made, *t))[0], *r[1]], tensors, torch.float32
    )
    assert error(ours, truth) <= 1e-5
    assert error(ours_slopes, slopes) <= 5e-5  # a gradient of one number may be a small sum of large terms


@pytest.mark.integration
def test_a_sequence_in_pieces_gives_the_same_numbers_as_a_whole_one() -> None:
    _, form, made = compile_step("exponential gates")
    drives, states, constants = [[t.float() for t in part] for part in draw_tensors(form, T=50, B=2, M=1)]
    whole, last = run_matrix.advance(made, drives, states, constants)
    pieces = []
    for first, end in ((0, 1), (1, 18), (18, 50)):
        output, states = run_matrix.advance(made, [t[:, first:end] for t in drives], states, constants)  # type: ignore[assignment]
        pieces.append(output)
    assert torch.equal(torch.cat(pieces, 1), whole)
    assert all(torch.equal(a, b) for a, b in zip(states, last, strict=True))


@pytest.mark.integration
@pytest.mark.parametrize("B", [3, 19])
def test_threads_share_the_heads_and_change_no_bit(threads: Callable[[int], None], B: int) -> None:
    _, form, made = compile_step("selective", heads=2)
    tensors = draw_tensors(form, T=30, B=B, M=2)
    results = []
    for count in (1, 2, 3):
        threads(count)
        results.append(with_gradients(advanced(made), tensors, torch.float32))
    for outputs, slopes in results[1:]:
        assert all(map(torch.equal, outputs, results[0][0]))
        assert all(map(torch.equal, slopes, results[0][1]))


@pytest.mark.integration
@pytest.mark.parametrize("B", [8, 19])
def test_a_member_alone_gives_the_same_bits_as_in_a_pack(B: int) -> None:
    _, form, made = compile_step("exponential gates", **TASKS)
    tensors = [[t.float() for t in part] for part in draw_tensors(form, T=30, B=B, M=3)]

    def compute_results(members: slice) -> list[Tensor]:
        leaves = [[t[members].clone().requires_grad_() for t in part] for part in tensors]
        values = advanced(made)(leaves)
        slopes = torch.autograd.grad(sum(v.sum() for v in values), [t for part in leaves for t in part])  # type: ignore[arg-type]
        return [*(v.detach() for v in values), *slopes]

    pack = compute_results(slice(None))
    assert all(torch.equal(alone, t[1:2]) for alone, t in zip(compute_results(slice(1, 2)), pack, strict=True))


@pytest.mark.integration
def test_memory_that_is_kept_for_the_backward_pass_is_a_state_of_each_chunk() -> None:
    _, form, made = compile_step("delta rule")
    tensors = [[t.float().requires_grad_() for t in part] for part in draw_tensors(form, T=400, B=2, M=1)]
    output, _ = run_matrix.advance(made, *tensors)
    chunks = output.grad_fn.chunks  # type: ignore[union-attr]
    assert chunks.numel() == 2 * form.heads * 20 * 16 * 16  # 400 steps are 20 chunks of 20
    with torch.no_grad():
        assert run_matrix.advance(made, *tensors)[0].grad_fn is None


@pytest.mark.integration
def test_subnormal_states_count_as_zeros() -> None:
    _, form, made = compile_step("delta rule")
    drives, states, constants = [[t.float() for t in part] for part in draw_tensors(form, T=3, B=1, M=1)]
    for t in drives:
        t.zero_()
    drives[-1].fill_(0.5)
    states[0].fill_(torch.finfo(torch.float32).tiny)
    assert not run_matrix.advance(made, drives, states, constants)[1][0].any()


@pytest.mark.integration
def test_a_second_derivative_is_refused_where_it_is_taken() -> None:
    _, form, made = compile_step("delta rule")
    tensors = [[t.float().requires_grad_() for t in part] for part in draw_tensors(form, T=4, B=1, M=1)]
    expected = torch.autograd.grad(run_matrix.advance(made, *tensors)[0].sum(), tensors[0])
    first = torch.autograd.grad(run_matrix.advance(made, *tensors)[0].sum(), tensors[0], create_graph=True)
    torch.testing.assert_close(first, expected, rtol=0, atol=0)
    with pytest.raises(RuntimeError, match="^A fused time loop has first derivatives only"):
        first[0].sum().backward()


@pytest.mark.integration
def test_a_tensor_of_another_shape_is_refused() -> None:
    _, form, made = compile_step("delta rule")
    drives, states, constants = [[t.float() for t in part] for part in draw_tensors(form, T=4, B=1, M=1)]
    wrong = [*drives[:-1], drives[-1][..., None]]
    with pytest.raises(ValueError, match=r"^a tensor of the loop must be \(1, 4, 1, 2\), got \(1, 4, 1, 2, 1\)"):
        run_matrix.advance(made, wrong, states, constants)


def test_more_rows_than_the_cache_holds_are_left_to_the_plain_loop() -> None:
    form = Form(1, 257, 16, {"S": "ij"}, {"q": "i", "k": "i", "v": "j", "beta": "", "alpha": ""})
    assert run_matrix.obstacle(plan(delta_rule, form), form, torch.device("cpu")) == (
        "257 rows are above 256, where the states of a step do not fit into the cache"
    )
