"""The read-out of a pack: W x + b with gradients in the order of products that is fast for few outputs."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch.func import vmap

from longwave.models.base.algebra import affine, affine_readout


def arguments(*axes: int, outputs: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    """Return W (2, k, 4), x (2, ..., 4) and b (2, 1, k), float64, all of which need gradients."""
    torch.manual_seed(0)
    shapes = (2, outputs, 4), (2, *axes, 4), (2, 1, outputs)
    weight, x, bias = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
    return weight, x, bias


@pytest.mark.parametrize("axes", [(5,), (3, 5)])
@pytest.mark.parametrize("outputs", [1, 3])
def test_a_readout_and_its_first_and_second_derivatives_are_those_of_w_x_plus_b(
    axes: tuple[int, ...], outputs: int
) -> None:
    given = arguments(*axes, outputs=outputs)
    assert torch.equal(affine_readout(*given), affine(*given))
    assert gradcheck(affine_readout, given)
    assert gradgradcheck(affine_readout, given)


def test_a_readout_computes_only_the_gradients_that_are_needed() -> None:
    for k in range(3):
        given = [t.detach().requires_grad_(k == i) for i, t in enumerate(arguments(5))]
        affine_readout(*given).square().sum().backward()
        (alone,) = torch.autograd.grad(affine(*given).square().sum(), given[k])
        torch.testing.assert_close(given[k].grad, alone)
        assert [t.grad is None for t in given] == [k != i for i in range(3)]


def test_vmap_maps_a_readout_and_its_gradients() -> None:
    weight, x, bias = arguments(5)
    several = torch.stack([weight.detach(), -2 * weight.detach()])
    mapped = vmap(lambda w: affine_readout(w, x, bias))(several)
    torch.testing.assert_close(mapped, torch.stack([affine(w, x, bias) for w in several]))
