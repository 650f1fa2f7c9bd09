"""What the recorder says of an operation's result is what torch says, and it needs none of torch's own compiler."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from every_model import build

from longwave.models.kernels.compiler.recorder import Recorder, on_meta

CASES = ("lem", "lem, floor", "gru", "lipschitz_rnn, scheme rk2", "unicornn", "tau_gru", "antisymmetric_rnn")


@pytest.mark.parametrize("case", CASES)
def test_results_have_the_shapes_and_types_that_torch_gives_them(case: str) -> None:
    layer = build(case, 6)
    with torch.no_grad(), Recorder() as made:
        layer.loop_weights(layer.lifted_tensors(on_meta(layer.raw())), 0)
        a, b, mask = (torch.empty(s, device="meta") for s in ((2, 5, 6), (2, 1, 6), (2, 5, 1)))
        torch.where(a > b, a, b * mask) + torch.baddbmm(b, a, a.mT @ a)
        (a.lt(0) + 1.0, a.clamp(0.0, 1.0), 1.0 - a.double(), torch.addcmul(a, b, mask), torch.zeros_like(a))
    assert made.calls
    for call in made.calls:
        (truth,) = (call.op(*call.args, **call.kwargs),)
        truths = truth if isinstance(truth, (list, tuple)) else (truth,)
        assert [(t.shape, t.dtype) for t in call.results] == [(t.shape, t.dtype) for t in truths], call.name


def test_a_product_of_matrices_that_do_not_fit_is_refused() -> None:
    a = torch.empty((2, 5, 6), device="meta")
    with pytest.raises(Exception, match="bmm at test_recorder.py"), Recorder():
        torch.bmm(a, a)


@pytest.mark.integration
def test_to_train_a_fused_layer_torchs_compiler_is_not_imported() -> None:
    code = (
        "import sys, torch; from longwave.models.lem import LEM; layer = LEM(2, 8, members=2)\n"
        "assert layer.why().path != 'reference', layer.why()\n"
        "layer(torch.zeros(2, 3, 4, 2))[0].sum().backward()\n"
        "assert not {'torch._dynamo', 'torch._inductor', 'sympy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.integration
def test_to_compile_a_layer_that_puts_numbers_in_places_neither() -> None:
    code = (
        "import sys; from longwave.models.antisymmetric_rnn import AntisymmetricRNN as Layer\n"
        "layer = Layer(2, 8, epsilon=0.1, gamma=0.1, sigma=1.0)\n"
        "assert layer.why().path != 'reference', layer.why()\n"
        "assert not {'torch._dynamo', 'torch._inductor', 'sympy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
