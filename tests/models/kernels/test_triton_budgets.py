"""What the compiled kernels cost, read from machine code that is made here without a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from every_model import CASES, build

pytestmark = pytest.mark.integration

triton = pytest.importorskip("triton", reason="Triton has no wheel for this platform")

AT_128 = {
    ("lem", False): {80: ((57, 647), (79, 733)), 90: ((51, 626), (70, 710)), 100: ((53, 578), (63, 666))},
    ("cornn", False): {80: ((0, 305), (0, 312)), 90: ((0, 302), (0, 314)), 100: ((0, 302), (0, 313))},
    ("lipschitz_rnn", False): {80: ((0, 283), (0, 316)), 90: ((0, 281), (0, 315)), 100: ((0, 280), (0, 314))},
    ("lipschitz_rnn, scheme rk2", False): {
        80: ((0, 551), (0, 611)),
        90: ((0, 551), (0, 623)),
        100: ((0, 547), (0, 624)),
    },
    ("tau_gru", False): {80: ((0, 439), (0, 508)), 90: ((0, 441), (0, 507)), 100: ((0, 441), (0, 495))},
    ("tau_gru", True): {80: ((56, 640), (67, 729)), 90: ((57, 631), (73, 720)), 100: ((57, 617), (76, 673))},
    ("lstm", False): {80: ((61, 625), (56, 703)), 90: ((57, 610), (55, 692)), 100: ((57, 610), (55, 687))},
    ("gru", False): {80: ((0, 421), (0, 495)), 90: ((0, 424), (0, 492)), 100: ((0, 419), (0, 491))},
}
"""Spills and instructions a step at d = 128, forward and backward, by capability; whether delays are in the loop.

Hand-written kernels had as many spills or more, except for LEM's backward pass on an A100 (80), with 73. They had up to
6 % fewer instructions for the Lipschitz RNN, and for others as many, within 4 %.
"""
BEYOND = {
    ("lem", False, "forward", 90): 59,
    ("lem", False, "forward", 100): 62,
    ("tau_gru", True, "forward", 80): 65,
    ("lstm", False, "backward", 80): 66,
}
"""Spills of those kernels that miss the target in bfloat16, 4 of 48, by one to three.

Row numbers of 32 bits in the forward kernel would save them, and cost it up to 7 more in float32.
"""
SLACK = 1.02
"""What another release of Triton or ptxas may add unseen."""
QUICK = {("lem", "forward"), ("lem", "backward"), ("cornn", "backward"), ("gru", "forward")}
OSCILLATOR = {("forward", False): 46, ("backward", False): 112, ("backward", True): 86}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile anew, into a folder of the test's own."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


def budget(case: str, direction: str, hidden: int, **how: Any) -> Any:
    from longwave.models.kernels.triton.budget import budget

    return budget(build(case, 4).cell_on("triton"), direction, hidden, **how)


def kernels() -> list[Any]:
    """Return all kernels of the table; those that are not quick are slow together."""
    ways = ("forward", "backward")
    every = [(*key, capability, way) for key, actual in AT_128.items() for capability in actual for way in ways]
    return [
        pytest.param(*of, marks=() if (of[0], of[3]) in QUICK and of[2] == 90 else pytest.mark.slow) for of in every
    ]


@pytest.mark.parametrize(("case", "near", "capability", "direction"), kernels())
def test_weights_stay_in_registers_and_products_are_exact_at_128_units(
    case: str, near: bool, capability: int, direction: str
) -> None:
    actual = budget(case, direction, 128, near=near, capability=capability)
    spills, instructions = AT_128[case, near][capability][direction == "backward"]
    assert actual.registers <= 255
    assert actual.shared <= 4096
    assert actual.spills <= SLACK * spills
    assert actual.instructions <= SLACK * instructions
    # Triton 3.6 has up to 1.11 multiply-adds for each of the products; later ones multiply and add some apart.
    assert actual.multiply_adds <= 1.12 * actual.ideal
    assert actual.arithmetic >= actual.ideal
    assert actual.tensor == 0


@pytest.mark.slow
@pytest.mark.parametrize("capability", [80, 90, 100])
@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize(("case", "near"), AT_128)
def test_rows_in_bfloat16_cost_their_conversion(case: str, near: bool, direction: str, capability: int) -> None:
    actual = budget(case, direction, 128, near=near, capability=capability, storage="bfloat16")
    spills, instructions = AT_128[case, near][capability][direction == "backward"]
    assert (actual.tensor, actual.registers <= 255) == (0, True)
    # Where a kernel nearly fills the registers (GRU's backward pass has 254), unpacking the halves takes one or two.
    assert actual.spills <= BEYOND.get((case, near, direction, capability), 1.1 * spills + 2)
    assert actual.instructions <= 1.04 * instructions


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize(("hidden", "shared"), [(16, 512), (60, 2048)])
def test_nothing_spills_below_128_units(case: str, direction: str, hidden: int, shared: int) -> None:
    actual = budget(case, direction, hidden)
    assert actual.registers <= 255
    assert actual.shared <= shared
    assert (actual.spills, actual.tensor) == (0, 0)


@pytest.mark.parametrize(("kernel", "instructions"), OSCILLATOR.items())
def test_an_oscillator_step_takes_some_dozens_of_instructions(kernel: tuple[str, bool], instructions: int) -> None:
    direction, reversible = kernel
    actual = budget("unicornn", direction, 128, reversible=reversible)
    assert actual.registers <= 80
    assert actual.instructions <= instructions
    assert (actual.shared, actual.spills) == (0, 0)


def test_a_kernel_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="direction must be forward or backward, got 'sideways'"):
        budget("lem", "sideways", 16)
    with pytest.raises(ValueError, match="no kernel of 4 matrices for d = 256"):
        budget("lem", "forward", 256)


def test_more_rows_than_the_backward_pass_can_number_are_refused() -> None:
    from longwave.models.kernels.triton import row
    from longwave.models.kernels.triton.printed import printed

    steps = printed(build("gru", 4).cell_on("triton").plan)
    out, nothing = torch.empty(1, 2**21, 2**10, 1, device="meta"), torch.empty(1, 1, 2**10, 1, device="meta")
    with pytest.raises(
        ValueError, match=r"fewer than 2147483648 steps of all sequences in total, got 2147483648; split"
    ):
        row.backward(steps, out, out, nothing, nothing, None, None, nothing, nothing, nothing, nothing)
