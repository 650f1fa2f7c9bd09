"""Layers as those who know torch.nn.LSTM call them: stacked, both ways, ragged, packed, cast, compiled."""

from __future__ import annotations

import copy
import time
import warnings
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

import longwave as lw
from longwave.models.base.block import Blocks
from longwave.models.lem import LEM
from longwave.platform.api.modules import modules
from longwave.platform.api.sequence_module import SequenceModule

X = torch.randn(4, 6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
LENGTHS = torch.tensor([6, 2, 5, 2])
TWINS = [(lw.LSTM, nn.LSTM), (lw.GRU, nn.GRU)]
GIVEN = {"dt": 0.3, "gamma": 1.5, "epsilon": 0.7, "alpha": 0.4, "beta": 0.6, "tau": 3.0}
SEQUENCES = [kind for kind in modules().values() if issubclass(kind, SequenceModule)]


def twin(ours: Any, theirs: Any, **more: Any) -> tuple[Any, Any]:
    """Return our layers and torch's with the same weights, in float64."""
    mine, other = ours(3, 4, **more).double(), theirs(3, 4, batch_first=True, **more).double()
    cells = [mine.layer, *mine.more]
    names = [f"l{k}{way}" for k in range(other.num_layers) for way in ("", "_reverse")[: 1 + other.bidirectional]]
    for cell, name in zip(cells, names, strict=True):
        for weight in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(cell, weight).data.copy_(getattr(other, f"{weight}_{name}").data)
    return mine, other


def as_torchs(state: Any, parts: int) -> list[torch.Tensor]:
    """Return our state as torch's: of each part one tensor (layers · directions, B, H)."""
    return [torch.stack(state[k::parts]) for k in range(parts)]


@pytest.mark.parametrize(("ours", "theirs"), TWINS)
@pytest.mark.parametrize(
    "more", [{}, {"num_layers": 3}, {"bidirectional": True}, {"num_layers": 2, "bidirectional": True}]
)
def test_layers_on_each_other_and_backwards_are_torch_s(ours: Any, theirs: Any, more: dict[str, Any]) -> None:
    mine, other = twin(ours, theirs, **more)
    expected, last = other(X)
    outputs, state = mine(X)
    assert torch.allclose(outputs, expected, atol=1e-12) and mine.outputs == expected.shape[-1]
    last = [last] if isinstance(last, torch.Tensor) else last
    for own, truth in zip(as_torchs(state, len(last)), last, strict=True):
        assert torch.allclose(own, truth, atol=1e-12)
    again, _ = mine(X, state)
    given = last[0] if len(last) == 1 else tuple(last)
    assert torch.allclose(again, other(X, given)[0], atol=1e-12)


@pytest.mark.parametrize(("ours", "theirs"), TWINS)
@pytest.mark.parametrize("sort", [True, False])
def test_packed_sequences_give_what_torch_gives(ours: Any, theirs: Any, sort: bool) -> None:
    mine, other = twin(ours, theirs, num_layers=2, bidirectional=True)
    x, lengths = (X[LENGTHS.argsort(descending=True)], LENGTHS.sort(descending=True)[0]) if sort else (X, LENGTHS)
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=sort)
    (outputs, state), (expected, last) = mine(packed), other(packed)
    assert isinstance(outputs, PackedSequence) and torch.allclose(outputs.data, expected.data, atol=1e-12)
    padded, sizes = pad_packed_sequence(expected, batch_first=True)
    assert torch.equal(pad_packed_sequence(outputs, batch_first=True)[1], sizes)
    assert torch.allclose(mine(x, lengths=lengths)[0], padded, atol=1e-12)
    last = [last] if isinstance(last, torch.Tensor) else last
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(as_torchs(state, len(last)), last, strict=True))


def test_dropout_between_layers_draws_and_scales_as_torch_s() -> None:
    mine, other = twin(lw.LSTM, nn.LSTM, num_layers=2, dropout=0.5)
    torch.manual_seed(3)
    expected, _ = other(X)
    torch.manual_seed(3)
    outputs, _ = mine(X)
    assert torch.allclose(outputs, expected, atol=1e-12) and not torch.allclose(outputs, mine.eval()(X)[0])
    assert torch.allclose(mine(X)[0], other.eval()(X)[0], atol=1e-12)


@pytest.mark.parametrize(("ours", "theirs"), TWINS)
def test_one_sequence_without_a_batch_is_read_as_torch_reads_it(ours: Any, theirs: Any) -> None:
    mine, other = twin(ours, theirs, num_layers=2)
    (outputs, state), (expected, last) = mine(X[0]), other(X[0])
    last = [last] if isinstance(last, torch.Tensor) else last
    assert torch.allclose(outputs, expected, atol=1e-12) and outputs.shape == (6, 4)
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(as_torchs(state, len(last)), last, strict=True))


def made(kind: type[SequenceModule], **chosen: Any) -> Any:
    """Return a module with all that it has to be given, in float64, in evaluation."""
    relevant = kind.LAYER.relevant({name: choices[0] for name, choices in kind.LAYER.OPTIONS.items()})
    given = {p.name: GIVEN[p.name] for p in relevant if p.searched and p.default is None}
    torch.manual_seed(1)
    return kind(3, 8, **{**given, **chosen}).double().eval()


@pytest.mark.parametrize("kind", SEQUENCES, ids=lambda kind: kind.__name__)
def test_ragged_sequences_give_what_each_gives_alone_with_zeros_behind(kind: type[SequenceModule]) -> None:
    module = made(kind)
    outputs, state = module(X, lengths=LENGTHS)
    for k, length in enumerate(LENGTHS.tolist()):
        alone, ends = module(X[k, :length])
        assert torch.allclose(outputs[k, :length], alone, atol=1e-12) and not outputs[k, length:].any()
        assert all(torch.allclose(s[k], e, atol=1e-12) for s, e in zip(state, ends, strict=True))


def test_gradients_of_ragged_sequences_are_those_of_finite_differences() -> None:
    module = made(lw.LEM, num_layers=2, bidirectional=True)
    x = X[:, :4].clone().requires_grad_()
    lengths = LENGTHS.clamp(max=4)
    assert torch.autograd.gradcheck(lambda x: module(x, lengths=lengths)[0], (x,), fast_mode=True)


def test_residual_blocks_are_those_of_a_sweep_and_go_on_step_by_step() -> None:
    block: dict[str, Any] = {"block": "pre", "norm": "rms", "glu": "half"}
    module = made(lw.LEM, dt=0.3, num_layers=2, width=5, **block)
    truth = Blocks(LEM, 3, 8, depth=2, width=5, batch_first=True, dt=0.3, **block).double().eval()
    truth.load_state_dict(module.layer.state_dict())
    assert torch.equal(module(X)[0], truth(X)[0]) and module.outputs == 5
    state, seen = None, []
    for now in X.unbind(1):
        output, state = module.step(now, state)
        seen.append(output)
    assert torch.allclose(torch.stack(seen, 1), module(X)[0], atol=1e-12)
    again = eval(repr(module), {"LEM": lw.LEM})
    assert repr(again) == repr(module) and "num_layers=2" in repr(module) and again.dt == module.dt == 0.3


def test_layers_on_each_other_go_on_step_by_step_and_are_shown() -> None:
    module = made(lw.CoRNN, num_layers=2)
    state, seen = None, []
    for now in X.unbind(1):
        output, state = module.step(now, state)
        seen.append(output)
    assert torch.allclose(torch.stack(seen, 1), module(X)[0], atol=1e-12) and repr(module).endswith("num_layers=2)")
    before = copy.deepcopy(module.state_dict())
    module.reset_parameters()
    assert not any(torch.equal(before[n], t) for n, t in module.state_dict().items() if n.endswith(".W"))


def test_a_layer_stands_in_sequential_with_its_outputs_or_its_last_ones() -> None:
    every = nn.Sequential(made(lw.LEM, only="outputs"), nn.Linear(8, 2).double())
    assert every(X).shape == (4, 6, 2)
    both = made(lw.LSTM, bidirectional=True, only="last")
    whole = copy.deepcopy(both)
    whole.only = None
    outputs, state = whole(X)
    assert nn.Sequential(both, nn.Linear(16, 2).double())(X).shape == (4, 2)
    assert torch.equal(both(X), torch.cat([state[0], state[2]], -1)) and torch.equal(both(X)[:, :8], outputs[:, -1, :8])
    assert torch.allclose(both(X, lengths=LENGTHS)[1], both(X[1:2, :2])[0], atol=1e-12)


def test_weights_of_another_time_step_are_refused_and_those_of_the_same_are_loaded() -> None:
    saved = lw.LEM(3, 8, dt=0.1).state_dict()
    with pytest.raises(RuntimeError, match=r"LEM: dt is 0.5, and 0.1 in the weights. Make the layer with dt=0.1."):
        lw.LEM(3, 8, dt=0.5).load_state_dict(saved)
    with pytest.raises(RuntimeError, match=r"dt is 0.5, and 0.1 in the weights"):
        nn.Sequential(lw.LEM(3, 8, dt=0.5, num_layers=2)).load_state_dict(
            nn.Sequential(lw.LEM(3, 8, dt=0.1, num_layers=2)).state_dict()
        )
    lw.LEM(3, 8, dt=0.1).double().load_state_dict(saved)
    lw.LEM(3, 8, dt=0.1).bfloat16().load_state_dict(saved)
    lw.LEM(3, 8, dt=0.1).load_state_dict(lw.LEM(3, 8, dt=0.1).bfloat16().state_dict())
    with pytest.raises(RuntimeError, match=r"dt is 0.1\d*, and 0.11 in the weights"):
        lw.LEM(3, 8, dt=0.1).bfloat16().load_state_dict(lw.LEM(3, 8, dt=0.11).state_dict())
    lw.LEM(3, 8, dt=0.5).to("meta").load_state_dict(saved, assign=True)
    trained = lw.LEM(3, 8, dt=nn.Parameter(torch.tensor(0.5)))
    trained.load_state_dict(lw.LEM(3, 8, dt=nn.Parameter(torch.tensor(0.1))).state_dict())
    assert trained.dt == pytest.approx(0.1)
    with pytest.raises(
        RuntimeError, match=r"dt is 0.5, and 0.12345679 in the weights. Make the layer with dt=0.12345679"
    ):
        lw.LEM(3, 8, dt=0.5).load_state_dict(lw.LEM(3, 8, dt=0.123456789).float().state_dict())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    ("chosen", "shown"),
    [
        ({"num_layers": 2, "bidirectional": True, "dropout": 0.1, "only": "last"}, ["bidirectional=True"]),
        ({"block": "pre", "width": 1, "conv": 2}, ["width=1", "conv=2"]),
        ({"block": "pre", "dropout": 0.0}, ["dropout=0"]),
        ({"block": "pre", "dropout": 0.3}, ["dropout=0.3"]),
        ({"dt": 0.123456789}, []),
        ({"dt": 1 / 3}, []),
        ({"dt": 20.0}, ["dt=20"]),
    ],
    ids=str,
)
def test_what_is_printed_makes_a_module_that_takes_the_weights(
    chosen: dict[str, Any], shown: list[str], dtype: torch.dtype
) -> None:
    module = lw.LEM(3, 8, **{"dt": 0.3, **chosen}).to(dtype)
    again = eval(repr(module), {"LEM": lw.LEM})
    again.load_state_dict(module.state_dict())
    assert repr(again.to(dtype)) == repr(module) and set(shown) <= set(repr(module)[:-1].split(", "))


def test_a_printed_number_has_the_fewest_digits_that_say_it_in_its_dtype() -> None:
    printed = {
        torch.float64: "0.123456789",
        torch.float32: "0.12345679",
        torch.float16: "0.1235",
        torch.bfloat16: "0.1235",
    }
    for dtype, text in printed.items():
        assert repr(lw.LEM(3, 8, dt=0.123456789).to(dtype)).startswith(f"LEM(3, 8, dt={text}, ")


def test_weights_of_a_layer_whose_numbers_are_whole_tensors_are_loaded() -> None:
    lem, tau = (lambda: lw.LEM(1, 8, dt=torch.tensor(1))), (lambda: lw.TauGRU(1, 8, tau=torch.tensor(3)))
    for make in (lem, tau):
        made_once = make()
        make().load_state_dict(made_once.state_dict())
        numbers = [t for name, t in made_once.named_buffers() if name in ("layer.dt", "layer.tau")]
        assert [t.dtype for t in numbers] == [torch.float32]
    lem().load_state_dict({**lem().state_dict(), "layer.dt": torch.tensor(1)})


def test_on_the_device_meta_which_has_no_autocast_a_layer_gives_the_shapes_alone() -> None:
    outputs, state = lw.GRU(1, 8).to("meta")(torch.empty(2, 3, 1, device="meta"))
    assert outputs.is_meta and outputs.shape == (2, 3, 8) and state[0].shape == (2, 8)


def test_autocast_takes_and_gives_what_torch_s_lstm_does_and_computes_in_the_weights_precision() -> None:
    mine, other, x = lw.LSTM(3, 4), nn.LSTM(3, 4, batch_first=True), X.float()
    whole = mine(x)[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for given in (x, x.bfloat16()):
            outputs, state = mine(given)
            assert outputs.dtype == torch.bfloat16 and state[0].dtype == torch.float32
            if torch.ops.mkldnn._is_mkldnn_bf16_supported():  # without AVX-512, torch's LSTM fails under autocast
                assert outputs.dtype == other(given)[0].dtype
        assert torch.equal(mine(x)[0], whole.bfloat16()) and torch.equal(mine(x)[1][0], whole[:, -1])
        torch.autograd.backward(nn.Linear(4, 1)(mine(nn.Linear(3, 3)(x))[0]).sum())
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in mine.parameters())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_an_orthogonal_layer_of_16_bits_is_that_of_32_up_to_rounding(dtype: torch.dtype) -> None:
    """Although torch's matrix exponential of 16 bits is NaN."""
    layer = lw.ExpRNN(3, 8)
    expected = layer(X.float())[0]
    error = copy.deepcopy(layer).to(dtype)(X.to(dtype))[0].float() - expected
    assert error.abs().max() < 32 * torch.finfo(dtype).eps * expected.abs().max()


@pytest.mark.parametrize("x", [X, X[0]], ids=["batched", "one sequence"])
def test_torch_s_bare_tensor_as_a_state_is_refused_by_name(x: torch.Tensor) -> None:
    layer, state = lw.GRU(3, 4), torch.zeros(*x.shape[:-2], 4)
    with pytest.raises(ValueError, match=r"^GRU: state must be a tuple of tensors, got Tensor"):
        layer(x.float(), state)
    with torch.autocast("cpu"), pytest.raises(ValueError, match=r"^GRU: state must be a tuple of tensors, got Tensor"):
        layer(x.float(), state)


class Outputs(nn.Module):
    """Gives the outputs of torch's LSTM alone."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return them."""
        outputs: torch.Tensor = self.layer(x)[0]
        return outputs


@pytest.mark.integration
def test_a_compiled_model_runs_the_layer_as_it_is_at_once_and_warns_no_more_than_with_torch_s_lstm() -> None:
    def warned(model: nn.Module) -> tuple[set[str], float]:
        start = time.process_time()
        with warnings.catch_warnings(record=True, action="always") as heard:
            outputs = torch.compile(model, backend="eager")(X.float())
            (outputs[0] if isinstance(outputs, tuple) else outputs).sum().backward()
        return {str(each.message) for each in heard}, time.process_time() - start

    lem, other = lw.LEM(3, 8, dt=0.5), nn.LSTM(3, 8, batch_first=True)
    expected, _ = warned(nn.Sequential(nn.Linear(3, 3), Outputs(other), nn.Linear(8, 1)))
    heard, seconds = warned(nn.Sequential(nn.Linear(3, 3), lw.LEM(3, 8, dt=0.5, only="outputs"), nn.Linear(8, 1)))
    assert heard <= expected and seconds < 5
    assert warned(lem)[0] <= warned(other)[0]
    assert torch.equal(torch.compile(lem, backend="eager")(X.float())[0], lem(X.float())[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lw.LEM(3, 8, dt=0.5, num_layer=2), r"No parameter of LEM 'num_layer'. Did you mean num_layers"),
        (lambda: lw.LEM(3, 8, dt=0.5, num_layers=0), "LEM: num_layers must be at least 1, got 0"),
        (lambda: lw.LEM(3, 8, dt=0.5, num_layers="2"), "LEM: num_layers must be a whole number, got '2'"),
        (lambda: lw.LEM(3, 8 / 2, dt=0.5), "LEM: hidden must be a whole number, got 4.0"),
        (lambda: lw.LEM(3, 8, dt=0.5, block="pre", width=0), "Blocks: width must be at least 1, got 0"),
        (lambda: lw.LEM(3, 8, dt=0.5, block="pre", width=7.5), "Blocks: width must be a whole number, got 7.5"),
        (lambda: lw.LEM(3, 8, dt=0.5, bidirectional="no"), "LEM: bidirectional must be True or False, got 'no'"),
        (lambda: lw.LEM(3, 8, dt=0.5, dropout=0.1), "LEM: dropout must be at least 0 and below 1, between layers"),
        (lambda: lw.LEM(3, 8, dt=0.5, bidirectional=1), "LEM: bidirectional must be True or False, got 1"),
        (lambda: lw.LEM(3, 8, dt=0.5, num_layers=2, dropout="0.1"), "LEM: dropout must be a number, got '0.1'"),
        (lambda: lw.LEM(3, 8, dt=0.5, num_layers=2, dropout=False), "LEM: dropout must be a number, got False"),
        (lambda: lw.LEM(3, 8, dt=0.5, norm="rms"), 'norm rms has no effect without a block. Set block = "pre"'),
        (lambda: lw.LEM(3, 8, dt=0.5, only="all"), "LEM: only must be outputs or last, got 'all'"),
        (lambda: lw.LEM(3, 8, dt=0.5, block="pre", bidirectional=True), "block is causal: leave bidirectional"),
        (lambda: lw.IndRNN(3, 8, num_layers=3), "IndRNN stacks layers itself: give layers=3, not num_layers"),
        (lambda: lw.LSTM(3, 8, bidirectional=True).step(X[:, 0].float()), "LSTM reads backwards, too"),
        (lambda: made(lw.LSTM)(X, lengths=[6, 2, 5]), "lengths must be 4 whole numbers from 1 to 6, got torch.int64"),
        (lambda: made(lw.LSTM)(X, lengths=[6, 2, 5, 0]), "lengths must be 4 whole numbers from 1 to 6"),
        (lambda: made(lw.LSTM)(X, lengths="abcd"), "lengths must be 4 whole numbers from 1 to 6, got 'abcd'"),
        (lambda: made(lw.LSTM)(X, lengths=[[6], [2, 5]]), r"lengths must be 4 .* 1 to 6, got \[\[6\], \[2, 5\]\]"),
        (lambda: made(lw.LSTM)(X[0], lengths=[3]), r"LSTM: with lengths, x must be \(B, T, 3\), got \(6, 3\)\."),
        (lambda: made(lw.LSTM)([X], lengths=[3]), r"LSTM: with lengths, x must be \(B, T, 3\), got list\."),
        (lambda: made(lw.LSTM, num_layers=2)(X, (X, X)), "LSTM: state must be 4 tensors, .* of each layer"),
        (
            lambda: made(lw.LEM, block="pre", norm="batch").train()(X, lengths=LENGTHS),
            "LEM: norm batch counts what is padded in training. Leave lengths out",
        ),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_one_line(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", SEQUENCES, ids=lambda kind: kind.__name__)
def test_a_weight_that_torch_parametrizes_is_the_one_computed_with(kind: type[SequenceModule]) -> None:
    module, plain = made(kind), made(kind)
    [name, *_] = [name for name, weight in module.layer.named_parameters(recurse=False) if weight.dim() == 2]
    weight_norm(module.layer, name)
    assert torch.allclose(module(X)[0], plain(X)[0], atol=1e-12)
    length, direction = module.layer.parametrizations[name].parameters()
    length.data *= 2
    getattr(plain.layer, name).data *= 2
    assert torch.allclose(module(X)[0], plain(X)[0], atol=1e-12)
    module(X)[0].square().sum().backward()
    plain(X)[0].square().sum().backward()
    along = (getattr(plain.layer, name).grad * direction).sum(1, keepdim=True) / direction.norm(dim=1, keepdim=True)
    assert torch.allclose(length.grad, along, atol=1e-9)
