"""Every layer as a plain module, ``lw.LEM(1, 64, dt=0.5)``: against plain formulas, and as torch's own are used."""

from __future__ import annotations

import copy
import io
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stubs
import torch
from tree import ROOT

import longwave as lw
from longwave.platform.api.graph_module import GraphModule
from longwave.platform.api.modules import modules
from longwave.platform.api.plain_module import LoneModule
from longwave.platform.api.sequence_module import SequenceModule

GIVEN = {"dt": 0.3, "gamma": 1.5, "epsilon": 0.7, "alpha": 0.4, "beta": 0.6, "tau": 3.0, "time": 1.0}
"""A value of each number that some layer has to be given."""
SEQUENCES = [kind for kind in modules().values() if issubclass(kind, SequenceModule)]
GRAPHS = [kind for kind in modules().values() if issubclass(kind, GraphModule)]


def made(kind: type[LoneModule], inputs: int = 3, hidden: int = 8, **chosen: Any) -> Any:
    """Return a module with all that it has to be given, in float64."""
    relevant = kind.LAYER.relevant({name: choices[0] for name, choices in kind.LAYER.OPTIONS.items()})
    needed = {p.name for p in relevant if p.searched and p.default is None}
    torch.manual_seed(1)
    given = {name: value for name, value in GIVEN.items() if name in needed}
    return kind(inputs, hidden, **{**given, **chosen}).double().eval()


def sequences(batch: int = 2, steps: int = 7, features: int = 3) -> torch.Tensor:
    return torch.randn(batch, steps, features, dtype=torch.float64, generator=torch.Generator().manual_seed(2))


def sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-x)))


def test_lem_is_the_papers_formula_written_in_numpy() -> None:
    lem, x = made(lw.LEM, dt=0.4), sequences()
    w = {name.removeprefix("layer."): t.numpy() for name, t in lem.state_dict().items()}
    y = z = np.zeros((2, 8))
    for n in range(7):
        u = {k: x[:, n].numpy() @ w[f"V{k}"].T + w[f"b{k}"] + w[f"c{k}"] for k in "12zy"}
        first, second = (0.4 * sigmoid(u[k] + y @ w[f"W{k}"].T) for k in "12")
        z = (1 - first) * z + first * np.tanh(u["z"] + y @ w["Wz"].T)
        y = (1 - second) * y + second * np.tanh(u["y"] + z @ w["Wy"].T)
        assert np.abs(lem(x)[0][:, n].detach().numpy() - y).max() < 1e-12
    assert [np.abs(s.detach().numpy() - truth).max() < 1e-12 for s, truth in zip(lem(x)[1], (y, z), strict=True)]


def test_cornn_is_the_papers_formula_written_in_numpy() -> None:
    layer, x = made(lw.CoRNN, dt=0.2, gamma=2.0, epsilon=0.5), sequences()
    w = {name.removeprefix("layer."): t.numpy() for name, t in layer.state_dict().items()}
    y = z = np.zeros((2, 8))
    for n in range(7):
        force = np.tanh(y @ w["W"].T + z @ w["Wz"].T + x[:, n].numpy() @ w["V"].T + w["b"])
        z = z + 0.2 * (force - 2.0 * y - 0.5 * z)
        y = y + 0.2 * z
    assert np.abs(layer(x)[0][:, -1].detach().numpy() - y).max() < 1e-12


def test_a_layer_without_a_state_refuses_single_steps_in_a_line() -> None:
    rule = r"^Transformer has no state to carry from step to step\. Give it the whole sequence\.$"
    with pytest.raises(ValueError, match=rule):
        lw.Transformer(2, 8).step(torch.zeros(1, 2))


@pytest.mark.parametrize("kind", [k for k in SEQUENCES if k.LAYER.STATE], ids=lambda kind: kind.__name__)
def test_streaming_step_by_step_is_the_whole_sequence(kind: type[LoneModule]) -> None:
    module, x, state, seen = made(kind), sequences(), None, []
    outputs, last = module(x)
    for now in x.unbind(1):
        output, state = module.step(now, state)
        seen.append(output)
    assert outputs.shape == (2, 7, module.outputs)
    assert torch.allclose(torch.stack(seen, 1), outputs, atol=1e-12)
    assert state is not None
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(state, last, strict=True))


@pytest.mark.parametrize("kind", [k for k in SEQUENCES if not k.LAYER.SURROGATE], ids=lambda kind: kind.__name__)
def test_gradients_of_inputs_weights_and_state_are_those_of_finite_differences(kind: type[LoneModule]) -> None:
    module, x = made(kind, 2, 3), sequences(2, 4, 2).requires_grad_()
    names, weights = zip(*((n, p.detach().clone().requires_grad_()) for n, p in module.named_parameters()), strict=True)

    def outputs(x: torch.Tensor, *given: torch.Tensor) -> torch.Tensor:
        out, state = torch.func.functional_call(module, dict(zip(names, given, strict=True)), (x,))
        return torch.cat([out.flatten(), *(s.flatten() for s in state)])

    assert torch.autograd.gradcheck(outputs, (x, *weights), fast_mode=True)


@pytest.mark.parametrize("kind", [kind for kind in GRAPHS if kind is not lw.CitationGraphCON], ids=lambda k: k.__name__)
def test_gradients_of_a_graphs_nodes_are_those_of_finite_differences(kind: type[LoneModule]) -> None:
    """Of all but one: its authors let no gradient flow into e as a source."""
    module, edges = made(kind, 2, 8), torch.tensor([[0, 1, 2, 3, 0], [1, 0, 3, 2, 2]])
    assert torch.autograd.gradcheck(lambda x: module(x, edges), (sequences(1, 4, 2)[0].requires_grad_(),))


@pytest.mark.parametrize("kind", [*SEQUENCES, *GRAPHS], ids=lambda kind: kind.__name__)
def test_a_module_is_copied_pickled_saved_and_cast_as_torchs_own_are(kind: type[LoneModule]) -> None:
    module = made(kind)
    edges = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
    given = (sequences(),) if issubclass(kind, SequenceModule) else (sequences()[0], edges)

    def outputs(one: Any) -> torch.Tensor:
        result = one(*given)
        return result[0] if isinstance(result, tuple) else result

    truth, file, saved = outputs(module), io.BytesIO(), io.BytesIO()
    torch.save(module, file)
    torch.save(module.state_dict(), saved)
    other = made(kind)
    other.reset_parameters()
    if any(p.numel() for p in module.parameters()):
        assert not torch.equal(outputs(other), truth)
    other.load_state_dict(torch.load(io.BytesIO(saved.getvalue()), weights_only=True))
    loaded = torch.load(io.BytesIO(file.getvalue()), weights_only=False)
    for copied in (other, loaded, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert type(copied) is kind
        assert torch.equal(outputs(copied), truth)
    assert all(t.dtype == torch.float32 for t in module.to(torch.float32).state_dict().values())


def test_graphs_are_given_as_nodes_and_edges() -> None:
    module, x = made(lw.GCN, layers=1), sequences()[0]
    apart, joined = (module(x, torch.tensor(edges)) for edges in ([[4, 5], [5, 4]], [[0, 1, 4, 5], [1, 0, 5, 4]]))
    assert apart.shape == (7, 8)
    assert torch.equal(apart[2:], joined[2:])
    assert not torch.allclose(apart[:2], joined[:2])


EDGES = torch.tensor([[0, 1, 2, 1], [1, 0, 1, 2]])


@pytest.mark.parametrize("kind", GRAPHS, ids=lambda kind: kind.__name__)
def test_under_autocast_a_graphs_layer_computes_in_its_weights_precision(kind: type[LoneModule]) -> None:
    module, x = made(kind, 2, 8).float().eval(), torch.randn(4, 2).bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        outputs = [module(x, EDGES), module(x.float(), EDGES)]
    assert all(torch.equal(each, module(x.float(), EDGES).bfloat16()) for each in outputs)


@pytest.mark.parametrize(
    ("x", "edges", "message"),
    [
        (torch.zeros(1, 4, 2), EDGES, r"^GCN: x must be nodes \(V, 2\) and not empty, got \(1, 4, 2\)\.$"),
        (torch.zeros(0, 2), EDGES[:, :0], r"^GCN: x must be nodes \(V, 2\) and not empty, got \(0, 2\)\.$"),
        ([[0.0, 1.0]], EDGES, r"^GCN: x must be nodes \(V, 2\) and not empty, got list\.$"),
        (torch.zeros(4, 2), EDGES.mT, r"^GCN: edges must be \(2, E\), of torch.int64, got torch.int64 \(4, 2\)\.$"),
        (torch.zeros(4, 2), EDGES.float(), r"^GCN: edges must be .* got torch.float32 \(2, 4\)\.$"),
        (torch.zeros(4, 2), torch.tensor([[0, 1, 4], [1, 0, 4]]), r"^GCN: edges must join nodes 0 to 3, got 4\.$"),
        (torch.zeros(4, 2), torch.tensor([[0, -1], [1, 0]]), r"^GCN: edges must join nodes 0 to 3, got -1\.$"),
        (torch.zeros(4, 2), EDGES.tolist(), r"^GCN: edges must be \(2, E\), of torch.int64, got list\.$"),
    ],
)
def test_nodes_and_edges_of_another_form_are_refused(x: Any, edges: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lw.GCN(2, 8)(x, edges)


def test_what_was_chosen_is_shown_and_makes_the_same_module_again() -> None:
    lem = lw.LEM(1, 64, dt=0.5, start="chrono", t_max=100)
    text = "LEM(1, 64, dt=0.5, start='chrono', multiscale=True, biases=8, t_max=100)"
    assert repr(lem) == text
    assert repr(eval(text, {"LEM": lw.LEM})) == text
    assert (lem.dt, lem.floor, lem.start, lem.inputs, lem.hidden) == (0.5, None, "chrono", 1, 64)
    assert repr(torch.nn.Sequential(lw.CoRNN(1, 2, dt=0.1, gamma=1.0, epsilon=2.0))) == (
        "Sequential(\n  (0): CoRNN(1, 2, dt=0.1, gamma=1, epsilon=2, damping='explicit', trainable=False)\n)"
    )


def test_a_number_given_as_a_parameter_is_trained() -> None:
    dt = torch.nn.Parameter(torch.tensor(0.5))
    lem = lw.LEM(3, 4, dt=dt)
    lem(sequences().float())[0].sum().backward()
    assert "layer.dt" in dict(lem.named_parameters())
    assert dt.grad is not None and dt.grad != 0


def test_a_number_given_as_a_tensor_is_copied_for_each_layer_unless_it_is_trained() -> None:
    for more in ({}, {"block": "pre"}):
        dt = torch.tensor(0.5)
        lem = lw.LEM(1, 8, dt=dt, num_layers=2, **more)
        dt.fill_(0.1)
        assert [t.item() for name, t in lem.named_buffers() if name.endswith("dt")] == [0.5, 0.5]
        trained = torch.tensor(0.5, requires_grad=True)
        lem = lw.LEM(1, 8, dt=trained, num_layers=2, **more)
        assert all(t is trained for name, t in lem.named_buffers(remove_duplicate=False) if name.endswith("dt"))
        lem(sequences(features=1).float())[0].sum().backward()
        assert trained.grad is not None and trained.grad != 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lw.LEM(1, 4, gama=1.0), r"No parameter of LEM 'gama'\. Known: biases, .*dt, floor, .*multiscale"),
        (lambda: lw.CoRNN(1, 4, dt=0.1, gama=1.0), r"No parameter of CoRNN 'gama'\. Did you mean gamma\?"),
        (lambda: lw.LEM(1, 4, members=3), "No parameter of LEM 'members'"),
        (lambda: lw.CoRNN(1, 4, dt=0.1, gamma=1.0), r"CoRNN: ε \(epsilon\) must be given\."),
        (lambda: lw.LEM(1, 4, dt=-1.0), r"LEM: Δt \(dt\) must be a finite number > 0, got -1\.0\."),
        (lambda: lw.LEM(1, 4, start="chron"), r"LEM: start must be one of uniform, chrono, got 'chron'\."),
        (
            lambda: lw.TauGRU(1, 4, tau=torch.nn.Parameter(torch.tensor(3.0))),
            r"^TauGRU: τ \(tau\) must be a whole .*, which is not trained, got a Parameter of 3\.0\. Give a plain num",
        ),
        (lambda: lw.TauGRU(1, 4, tau=torch.tensor(3.0, requires_grad=True)), "not trained, got a Tensor of 3.0"),
        (lambda: lw.LEM(0, 4), "LEM: inputs must be at least 1, got 0"),
        (lambda: lw.LEM(1, 4)(torch.zeros(5)), r"LEM: x must be \(B, T, 1\) and not empty, got \(5,\)"),
        (lambda: lw.LEM(1, 4).step(torch.zeros(5, 2, 1)), r"LEM: a step must be a tensor \(B, 1\), got \(5, 2, 1\)"),
        (lambda: lw.LEM(1, 4).step(torch.zeros(2, 1).numpy()), r"LEM: a step must be a tensor \(B, 1\), got ndarray"),
        (lambda: lw.LEM(1, 4)(torch.zeros(2, 3, 1), 3), "LEM: state must be a tuple of tensors, got 3"),
        (lambda: lw.LEM(1, 4).step(torch.zeros(2, 1), (torch.zeros(3, 4),) * 2), r"LEM: state must be the tensors y"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_an_unknown_layer_is_named() -> None:
    for name, known in {"LEMM": "LEM", "lem": "LEM", "Board": "board"}.items():
        with pytest.raises(AttributeError, match=rf"longwave has no attribute '{name}'. Did you mean {known}\b"):
            getattr(lw, name)
    with pytest.raises(AttributeError, match="longwave has no attribute 'Nothing'; it has the layers of dir"):
        _ = lw.Nothing
    assert {kind.__name__ for kind in modules().values()} < set(dir(lw))


def test_the_stubs_are_what_the_models_declare() -> None:
    advice = "The layers' signatures changed. Write them anew with: make freeze"
    assert stubs.FILE.read_text(encoding="utf-8") == stubs.stub_text(), advice


@pytest.mark.integration
def test_the_name_alone_imports_no_torch_and_a_layers_name_does() -> None:
    code = (
        "import sys, longwave as lw; dir(lw); hasattr(lw, 'nothing'); assert 'torch' not in sys.modules\n"
        "lw.LEM; assert 'torch' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


SNIPPET = """import longwave as lw
reveal_type(lw.LEM(1, 64, dt=0.5).dt)
reveal_type(lw.CoRNN(1, 2, dt=0.1, gamma=1.0, epsilon=1.0, trainable=True).trainable)
lw.LEM(1, 64, gama=0.5)
lw.LEMM(1, 64)
lw.CoRNN(1, 2, dt=0.1, gamma=1.0)
lw.LEM(1, 64, start="chron")
"""


@pytest.mark.slow  # mypy reads torch's types: 20 s
def test_a_type_checker_knows_every_layers_keywords_and_numbers(tmp_path: Path) -> None:
    (tmp_path / "snippet.py").write_text(SNIPPET)
    options = ["--config-file", "", "--cache-dir", str(tmp_path / "cache"), "--explicit-package-bases"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--follow-imports", "silent", str(tmp_path / "snippet.py")],
        env={**os.environ, "MYPYPATH": str(ROOT / "infra/typing")}, capture_output=True, text=True,
    )  # fmt: skip
    lines = [line.partition(":")[2] for line in done.stdout.splitlines() if "defined in" not in line]
    assert lines[:-1] == [
        '2: note: Revealed type is "float"',
        '3: note: Revealed type is "bool"',
        '4: error: Unexpected keyword argument "gama" for "LEM"  [call-arg]',
        '5: error: Module has no attribute "LEMM"; maybe "LEM"?  [attr-defined]',
        '6: error: Missing named argument "epsilon" for "CoRNN"  [call-arg]',
        '7: error: Argument "start" to "LEM" has incompatible type "Literal[\'chron\']"; '
        "expected \"Literal['chrono', 'uniform']\"  [arg-type]",
    ], done.stdout + done.stderr
