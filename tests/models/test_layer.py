"""What a layer holds and how its mathematics reads it: any number of axes, complex numbers, groups, batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import toy_attention
import toy_blocks
import toy_scan
from cases import sequence_models
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import draw_normal
from torch import Generator, Tensor, nn

from longwave.models.base.algebra import complex_of
from longwave.models.base.dropout import dropped
from longwave.models.base.layer import Layer
from longwave.models.base.network import Network
from longwave.models.base.param import Param
from longwave.models.base.spec import Sizes
from longwave.models.base.weights import Complex, WeightGroup
from longwave.models.gru import MODEL as GRU
from longwave.models.lem import MODEL as LEM
from longwave.models.unicornn import MODEL as UNICORNN
from longwave.models.unicornn import UnICORNN
from longwave.platform.registry import all_models
from longwave.platform.training.optimiser import FlatParameters
from longwave.tasks.base.batch import Batch
from longwave.tasks.base.sequences import Sequences

FLOAT64 = torch.float64
SHAPES: dict[str, tuple[int, ...]] = {
    "number": (1,),
    "vector": (6,),
    "matrix": (2, 3),
    "cube": (2, 3, 4),
    "more": (2, 1, 3, 4),
    "poles": Complex((5,)),
    "mixing": Complex((2, 3)),
    "kernels": Complex((2, 3, 4)),
}


@dataclass(frozen=True)
class EveryWeight:
    number: Tensor
    vector: Tensor
    matrix: Tensor
    cube: Tensor
    more: Tensor
    poles: Tensor
    mixing: Tensor
    kernels: Tensor
    rate: Tensor
    absent: Tensor | None = None


class Shelf(Layer[EveryWeight]):
    """A layer that only holds."""

    WEIGHTS = EveryWeight
    PARAMS = (Param("rate", "r", 0.1, 1.0, True, "1", "A number."),)
    GROUPS = {"slow": WeightGroup(("vector", "poles"), rate=0.1, decay=False)}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return SHAPES


@pytest.mark.parametrize("members", [None, 3])
@pytest.mark.parametrize(("dtype", "twice"), [(torch.float32, torch.complex64), (FLOAT64, torch.complex128)])
def test_numbers_and_vectors_are_lifted_and_all_with_more_axes_keep_them(
    members: int | None, dtype: torch.dtype, twice: torch.dtype
) -> None:
    layer, m = Shelf(1, 4, members=members, rate=0.5).to(dtype), members or 1
    w = layer.weights(layer.lifted_tensors())
    lead = {"number": (1, 1), "vector": (1, 6), "poles": (1, 5)}
    for name, shape in SHAPES.items():
        tensor = getattr(w, name)
        assert tensor.shape == (m, *lead.get(name, tuple(shape))), name
        assert tensor.dtype == (twice if isinstance(shape, Complex) else dtype), name
        real = torch.view_as_real(tensor) if tensor.is_complex() else tensor
        assert torch.equal(real.flatten(), getattr(layer, name).flatten()), name
    assert w.rate.shape == (m, 1, 1) and w.rate.dtype == dtype and w.absent is None


def test_what_the_optimiser_sees_of_complex_weights_is_real_and_may_start_anywhere_in_memory() -> None:
    layer = Shelf(1, 4, members=3, rate=0.5)
    flat = FlatParameters(layer)
    assert flat.values.dtype == torch.float32 and flat.values.shape[1] == sum(
        torch.Size(s).numel() * (2 if isinstance(s, Complex) else 1) for s in SHAPES.values()
    )
    before = layer.poles.detach().clone()
    assert layer.poles.storage_offset() % 2 == 1, "this test wants an odd place"
    assert torch.equal(torch.view_as_real(layer.weights(layer.lifted_tensors()).poles).squeeze(1), before)
    (actual,) = torch.autograd.grad(layer.weights(layer.lifted_tensors()).poles.abs().square().sum(), [layer.poles])
    torch.testing.assert_close(actual, 2 * before)


def test_gradients_flow_through_real_pairs_and_dropout() -> None:
    pairs, x, rate = draw_normal(3, 4, 2), draw_normal(2, 3, 2, 4), torch.full((2, 1, 1), 0.3, dtype=FLOAT64)
    assert torch.autograd.gradcheck(complex_of, (pairs.requires_grad_(),))

    def drop(x: Tensor, rate: Tensor) -> Tensor:
        return dropped(x, rate, [Generator().manual_seed(k) for k in range(2)])

    assert torch.autograd.gradcheck(drop, (x.requires_grad_(), rate.requires_grad_()))


def test_a_complex_hyper_parameter_is_refused() -> None:
    rule = r"^Shelf: r \(rate\) must be a finite number > 0, got "
    for value in (torch.tensor(0.5 + 0j), 0.5 + 1j, [0.5 + 0j] * 3, torch.full((3,), 0.5 + 0j)):
        with pytest.raises(ValueError, match=rule):
            Shelf(1, 4, members=3, rate=value)


@pytest.mark.parametrize("dtype", [torch.complex64, FLOAT64, torch.int64])
def test_a_weight_that_would_be_cast_is_refused(dtype: torch.dtype) -> None:
    layer = Shelf(1, 4, rate=0.5)
    cast = layer.matrix.detach().to(dtype)
    layer.matrix = nn.Parameter(cast, requires_grad=cast.is_floating_point() or cast.is_complex())
    rule = rf"^Shelf: matrix must have the layer's dtype torch\.float32, of real numbers, got {dtype}; cast the whole"
    with pytest.raises(ValueError, match=rule):
        layer.lifted_tensors()


def test_a_hyper_parameter_may_be_a_tensor_of_whole_numbers_or_of_another_precision() -> None:
    for value in (torch.tensor(1), torch.tensor(1.0, dtype=FLOAT64), torch.tensor([1, 1, 1])):
        layer = Shelf(1, 4, members=3, rate=value)
        assert torch.equal(layer.weights(layer.lifted_tensors()).rate, torch.ones(3, 1, 1))


def test_a_group_has_the_names_of_its_parameters_in_a_stack_those_of_all_layers() -> None:
    class Grouped(UnICORNN):
        GROUPS: Any = {"own": WeightGroup(("w", "V"), rate=2.0), "none": WeightGroup(("nothing",))}

    assert Shelf(1, 4, rate=0.5).groups() == {"slow": WeightGroup(("vector", "poles"), 0.1, False)}
    actual = Grouped(1, 4, dt=0.1, alpha=1.0, layers=2).groups()
    assert actual == {"own": WeightGroup(("V1", "w1", "V2", "w2"), 2.0), "none": WeightGroup(())}
    network = Network(LEM, Sizes(5, 4, 2, 9), {}, [1])
    assert network.groups() == {"readout": WeightGroup(("weight", "bias"))}


def test_every_weight_that_a_model_reads_is_typed() -> None:
    for spec in all_models().values():
        hyper = {p.name: 2.0 if p.whole else p.low for p in spec.layer.relevant(spec.defaults) if p.searched}
        layer: Any = spec.build(Sizes(2, 4, 3, 9), 2, **hyper)
        given: Mapping[str, Tensor] = (
            layer.of_layer(layer.lifted_tensors(), 1) if hasattr(layer, "of_layer") else layer.lifted_tensors()
        )
        assert type(layer.weights(given)) is layer.WEIGHTS, spec.name


@pytest.mark.parametrize("every", [False, True])
def test_a_mask_is_one_for_all_steps_or_new_at_each_and_each_members_own(every: bool) -> None:
    x, rate = torch.ones(3, 6, 50, 40), torch.tensor([0.0, 0.25, 0.5]).view(3, 1, 1, 1)
    out = dropped(x, rate, [Generator().manual_seed(k) for k in (1, 2, 2)], per_step=every)
    kept = out != 0
    assert kept[0].all() and (out[0] == 1).all() and set(out[2].unique().tolist()) == {0.0, 2.0}
    assert abs(kept[1].float().mean() - 0.75) < 0.05 and (kept[1] >= kept[2]).all()
    assert (kept[1] == kept[1, :1]).all().item() is not every
    alone = dropped(x[1:2], rate[1:2], [Generator().manual_seed(2)], per_step=every)
    assert torch.equal(alone[0], out[1])


LAYERS = {spec.name: spec for spec in (LEM, GRU, UNICORNN, toy_scan.MODEL, toy_attention.MODEL, toy_blocks.MODEL)}


def layer_of(name: str, members: int | None, **more: Any) -> Any:
    torch.default_generator.manual_seed(0)
    hyper = {p.name: 0.5 for p in LAYERS[name].params if p.searched and p.name != "dropout"}
    return LAYERS[name].build(Sizes(2, 4, 3, 9), members, **hyper, **more).to(FLOAT64)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("members", [None, 2])
@pytest.mark.parametrize("name", LAYERS)
def test_features_are_all_outputs_or_what_a_readout_of_the_last_step_sees(
    name: str, members: int | None, batch_first: bool
) -> None:
    layer, lead = layer_of(name, members, batch_first=batch_first), () if members is None else (members,)
    x = draw_normal(*lead, 5, 7, 2)
    outputs, last = layer_of(name, members)(x.transpose(-3, -2))
    every, state = layer.features(Sequences(x, torch.zeros(*lead, 5, 7, dtype=torch.int64)))
    torch.testing.assert_close(every, outputs, rtol=0, atol=0)
    assert all(torch.equal(*pair) for pair in zip(state, last, strict=True))
    end, _ = layer.features(Sequences(x, torch.zeros(*lead, 5, dtype=torch.int64)))
    torch.testing.assert_close(end, outputs[..., -1, :, :], rtol=1e-12, atol=0)


@settings(max_examples=15)
@given(
    name=st.sampled_from(sorted(LAYERS)),
    lengths=st.lists(st.lists(st.integers(1, 6), min_size=3, max_size=3), min_size=2, max_size=2),
    padding=st.floats(-1e3, 1e3),
)
def test_padding_changes_no_feature(name: str, lengths: list[list[int]], padding: float) -> None:
    layer, x, n = layer_of(name, 2), draw_normal(2, 3, 6, 2), torch.tensor(lengths)
    requested = torch.zeros(2, 3, dtype=torch.int64)
    behind = torch.arange(6) >= n.unsqueeze(-1)
    padded = torch.where(behind.unsqueeze(-1), padding, x)
    actual, _ = layer.features(Sequences(padded, requested, lengths=n))
    assert torch.equal(actual, layer.features(Sequences(x, requested, lengths=n))[0])
    for k in range(2):
        for b in range(3):
            short = x[:, b : b + 1, : lengths[k][b]]
            alone, _ = layer.features(Sequences(short, requested[:, :1]))
            torch.testing.assert_close(actual[k, b], alone[k, 0], rtol=1e-10, atol=1e-12)


def test_a_layer_says_which_batches_it_reads_and_refuses_others() -> None:
    @dataclass(frozen=True)
    class Cloud(Batch):
        inputs: Tensor
        targets: Tensor

        @property
        def positions(self) -> int:
            return self.inputs.shape[-2]

    assert all(spec.layer.READS is Sequences for spec in sequence_models().values())
    with pytest.raises(ValueError, match=r"^LEM reads Sequences, got Cloud\.$"):
        layer_of("lem", 2).features(Cloud(draw_normal(2, 5, 7, 2), torch.zeros(2, 5)))
