"""Rules of a call: what depends on other examples, on other calls, or changes something, is named by its rule alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import toy_attention
import toy_blocks
import toy_scan
from plugin_files import LEAKY, written

from longwave.models import mlp
from longwave.models.base.geometric import Links
from longwave.models.base.layer import Generators
from longwave.models.base.spec import ModelSpec
from longwave.models.kernels import using
from longwave.platform.contracts import calls
from longwave.platform.contracts.models import model_findings
from longwave.platform.plugins.known import add_plugin
from longwave.platform.registry import get_model

BATCH = "In evaluation, an example gives the same alone as in any batch."
CALLS = "Without a state it starts from zeros, and no call depends on earlier calls."
CHANGES = "A call changes neither the layer, its inputs nor shared random numbers."
STATE = "(y,) = state"
DRIVE = "return (affine(w.V, x, w.b),)"
ALONE = " gives different outputs in a batch than alone: a layer must compute nothing over the batch"
METHODS = "\n\ndef _count("


def plugin(step: str = "", drive: str = "", methods: str = "", head: str = "", own: str = "") -> str:
    """Return the leaky network with lines in front of its step and its drive, further methods, imports, attributes."""
    text = LEAKY.replace("from torch import", f"import torch\n{head}\nfrom torch import")
    text = text.replace(STATE, f"{STATE}\n        {step}") if step else text
    text = text.replace(DRIVE, f"{drive}\n        {DRIVE}") if drive else text
    text = text.replace("    PARAMS = (DT,)", f"    PARAMS = (DT,)\n    {own}") if own else text
    body = methods.replace("\n", "\n    ")
    return text.replace(METHODS, f"\n    {body}\n{METHODS}", 1) if methods else text


def broken(text: str, folder: Path) -> dict[str, str]:
    """Return what is wrong with a plugin, by the quick rules that it breaks."""
    add_plugin(written(folder / "leaky.py", text))
    return wrong(get_model("my-leaky"))


def wrong(spec: ModelSpec) -> dict[str, str]:
    return {outcome.words: outcome.broken for outcome in model_findings(spec, quick=True) if outcome.broken}


LEAKS = {
    "the mean over the batch": (plugin("y = y + 0.1 * y.mean(1, keepdim=True)"), f"example 1 of 4{ALONE}"),
    "norms over the batch": (plugin(drive="x = (x - x.mean(2, True)) / (x.var(2, False, True) + 0.1)"), ALONE),
    "the order in the batch": (plugin("y = y.sort(1).values"), ALONE),
    "the place in the batch": (plugin("y = y + 0.1 * torch.arange(y.shape[1])[:, None]"), f"example 1 of 4{ALONE}"),
    "the size of the batch": (plugin("y = y / y.shape[1]"), ALONE),
    "its first example": (plugin("y = y + 0.1 * y[:, :1]"), ALONE),
    "evaluation alone": (plugin("y = y if self.training else y + 0.1 * y.mean(1, keepdim=True)"), ALONE),
    "what is not a number": (
        plugin("y = torch.where(y.isnan().any(1, True), 0.0, y)"),
        "example 1, set to NaN, changes the outputs of other examples: a layer must compute nothing over the batch"),
    "too little to be seen": (plugin("y = y + 1e-14 * y.mean(1, True)"), "example 1, set to NaN, changes the"),
    "gradients": (
        plugin("m = 0.1 * y.mean(1, True); y = y + m - m.detach()"),
        "the gradient of example 1 differs in a batch from each example alone: a layer must compute nothing over"),
    "padding": (
        plugin(methods="def readout(self, outputs, state):\n    return outputs.mean(-3)"),
        "example 1 of 3 gives different outputs beside examples of other sizes than alone: a read-out must be taken"),
}  # fmt: skip
"""What leaks from one example to another: a plugin, and the message."""
MEMORIES = {
    "the number of trainings": (
        plugin("SEEN.append(1) if self.training else None; y = y if self.training else y / (1 + len(SEEN))",
               head="SEEN = []"), "the same call gives different outputs after another call"),
    "a start of its own": (
        plugin(methods="def forward(self, x, state=None, generators=None):\n"
               "    _, (y,) = super().forward(x, state, generators)\n"
               "    return super().forward(x, state or (torch.ones_like(y),), generators)"),
        "a state of zeros gives different outputs from no state"),
    "a last state of its own": (
        plugin(methods="def forward(self, x, state=None, generators=None):\n"
               "    outputs, (y,) = super().forward(x, state, generators)\n"
               "    zeros = state is not None and not state[0].any()\n"
               "    return outputs, (y + 1 if zeros else y,)"),
        "a state of zeros gives a different last state from no state"),
}  # fmt: skip
"""What depends on other calls, or on whether there was a state."""
CHANGED = {
    "a counter": (plugin("self.n = getattr(self, 'n', 0) + 1"), "a call in evaluation adds n"),
    "a counter in training": (
        plugin("setattr(self, 'n', 1) if self.training else None"), "a call in training adds n"),
    "a list": (plugin("self.seen.append(1)", own="seen = []"), "a call in evaluation adds Leaky.seen["),
    "a list in a dictionary": (
        plugin("self.seen['a'].append(2)", own="seen = {'a': [1]}"), "a call in evaluation adds Leaky.seen['a']["),
    "a set": (plugin("self.seen.add(y.shape)", own="seen = set()"), "a call in evaluation changes Leaky.seen"),
    "a class attribute": (plugin("type(self).n += 1", own="n = 0"), "a call in evaluation changes Leaky.n"),
    "an iterator": (
        plugin("next(self.n)", own="n = itertools.count()", head="import itertools"),
        "a call in evaluation changes Leaky.n"),
    "an object": (
        plugin("self.n.x = self.n.x + 1", own="n = SimpleNamespace(x=0)", head="from types import SimpleNamespace"),
        "a call in evaluation changes Leaky.n.x"),
    "an array": (
        plugin("self.n[0] += 1", own="n = numpy.zeros(2)", head="import numpy"),
        "a call in evaluation changes Leaky.n"),
    "running statistics": (
        plugin(drive="self.mean.add_(1.0) if self.training else None", own="mean = torch.zeros(())"),
        "a call in training changes Leaky.mean"),
    "what it had": (
        plugin("self.__dict__.pop('n', 0)", methods="def __init__(self, *sizes, **chosen):\n"
               "    super().__init__(*sizes, **chosen)\n    self.n = 1"), "a call in evaluation removes n"),
    "the mode": (plugin(drive="self.eval()"), "a call in training changes training"),
    "a weight": (plugin(drive="w.b.data.copy_(-w.b.data.abs())"), "a call in evaluation changes b"),
    "its input": (plugin(drive="x.data.clamp_(-9.0, 1.0)"), "a call in evaluation changes the input inputs"),
    "its state": (plugin("y.data.clamp_(-9.0, 1.0)"), "a call in evaluation changes the state 0"),
    "the way back": (
        plugin("y.register_hook(lambda g: setattr(self, 'n', 1)) if y.requires_grad else None"),
        "a call in evaluation adds n"),
    "torch's random numbers": (
        plugin(drive="torch.rand(1)"), "a call in evaluation changes torch's own random numbers"),
    "NumPy's random numbers": (
        plugin(drive="numpy.random.rand()", head="import numpy"),
        "a call in evaluation changes NumPy's own random numbers"),
    "Python's random numbers": (
        plugin(drive="random.random()", head="import random"),
        "a call in evaluation changes Python's own random numbers"),
    "a generator of its own": (
        plugin(drive="torch.rand(1, generator=self.own)", own="own = torch.Generator()"),
        "a call in evaluation changes Leaky.own"),
}  # fmt: skip
"""What a call changes beside its outputs."""
RIGHT = {
    "the mean over features": plugin("y = y + 0.1 * y.mean(-1, keepdim=True)"),
    "the mean over the batch in training": plugin("y = y + 0.1 * y.mean(1, True) if self.training else y"),
    "a memory of what is always the same": plugin(
        "y = y * _half()", head="from functools import cache\n\n\n@cache\ndef _half():\n    return 0.5\n"),
    "an attribute that is set to what it is": plugin("self.n = [1]", own="n = None",
        methods="def __init__(self, *sizes, **chosen):\n    super().__init__(*sizes, **chosen)\n    self.n = [1]"),
    "a list of the call": plugin("seen = [y]; y = seen.pop()"),
    "numbers drawn from a seed": plugin(
        drive="x = x + 0.1 * torch.rand(x.shape[-1], generator=torch.Generator().manual_seed(1)).to(x)"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_fused() -> Iterator[None]:
    """Nothing is compiled: what a fused loop computes is another rule's."""
    with using("reference"):
        yield


@pytest.mark.parametrize("what", LEAKS)
def test_what_leaks_through_the_batch_is_named_by_that_rule_alone(what: str, tmp_path: Path) -> None:
    text, message = LEAKS[what]
    rules = broken(text, tmp_path)
    assert [*rules] == [BATCH] and message in rules[BATCH]


@pytest.mark.parametrize("what", MEMORIES)
def test_what_depends_on_other_calls_is_named_by_that_rule(what: str, tmp_path: Path) -> None:
    text, message = MEMORIES[what]
    rules = broken(text, tmp_path)
    assert [*rules] == [CALLS] and rules[CALLS] == message


@pytest.mark.parametrize("what", CHANGED)
def test_what_a_call_changes_is_named_by_that_rule_alone(what: str, tmp_path: Path) -> None:
    text, message = CHANGED[what]
    rules = broken(text, tmp_path)
    assert [*rules] == [CHANGES] and rules[CHANGES].startswith(message)


@pytest.mark.parametrize("what", RIGHT)
def test_what_only_looks_alike_keeps_every_quick_rule(what: str, tmp_path: Path) -> None:
    assert broken(RIGHT[what], tmp_path) == {}


def test_random_numbers_that_another_thread_draws_once_are_not_the_layers_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = itertools.chain([0, 1], itertools.repeat(2))
    monkeypatch.setattr(calls, "random_states", lambda: {"NumPy's own random numbers": next(drawn)})
    assert broken(LEAKY, tmp_path) == {}


@pytest.mark.integration
@pytest.mark.parametrize("module", [toy_attention, toy_scan, toy_blocks], ids=lambda m: m.MODEL.name)
def test_layers_that_are_no_recurrences_keep_the_quick_rules(module: object) -> None:
    outcomes = [*model_findings(module.MODEL, quick=True)]  # type: ignore[attr-defined]
    assert not [outcome for outcome in outcomes if outcome.broken]
    carried = next(outcome for outcome in outcomes if outcome.words.startswith("A sequence in pieces"))
    assert carried.skipped == ("" if module is toy_scan else "it has no state to carry from one call to the next")


class Centred(mlp.MLP):
    """Nodes less the mean over all graphs of the batch."""

    def states(self, x: torch.Tensor, links: Links, w: object, generators: Generators) -> Iterator[torch.Tensor]:
        for seen in super().states(x, links, w, generators):  # type: ignore[arg-type]
            yield seen - seen.mean(1, keepdim=True)


class Counting(mlp.MLP):
    """Nodes as they are, and a number that grows."""

    def states(self, x: torch.Tensor, links: Links, w: object, generators: Generators) -> Iterator[torch.Tensor]:
        self.n = getattr(self, "n", 0) + 1
        yield from super().states(x, links, w, generators)  # type: ignore[arg-type]


@pytest.mark.parametrize(("layer", "rule"), [(mlp.MLP, None), (Centred, BATCH), (Counting, CHANGES)])
def test_a_graph_of_a_batch_is_checked_like_a_sequence(layer: type[mlp.MLP], rule: str | None) -> None:
    rules = wrong(replace(mlp.MODEL, layer=layer))
    assert [*rules] == ([rule] if rule else [])
