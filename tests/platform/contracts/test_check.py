"""``longwave check``: what is right passes every rule, and what breaks an equation is named by the rule it breaks."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plugin_files import LEAKY, SIGN, written

from longwave.platform.cli.main import main
from longwave.platform.contracts.check import check_file
from longwave.platform.contracts.rule import RuleOutcome
from longwave.platform.plugins.known import add_plugin, forget_plugins
from longwave.platform.plugins.new import write_new
from longwave.platform.plugins.plugin import WORD
from longwave.platform.registry import get_model, get_task

STEP = "return (lerp(y, tanh(affine(w.W, y, u[0])), w.dt),)"
DRIVE = "return (affine(w.V, x, w.b),)"
ODD = "torch.erfinv(0.5 * tanh(affine(w.W, y, u[0])))"
"""What no fused loop has."""
BROKEN = {
    "a state that mixes members": (STEP, STEP.replace("y, u[0]", "y.mean(0, keepdim=True).expand_as(y), u[0]"),
        {"No member affects another, whatever happens to it.": "member 2's input, once another, change the outputs",
         "Each member of a pack computes what it computes alone.": "member 1 of 3 has different outputs than alone"}),
    "a detached gradient": (STEP, STEP.replace("affine(w.W, y, u[0])", "affine(w.W, y.detach(), u[0])"),
        {"Gradients equal finite differences in float64.": "the gradient of the input differs from finite"}),
    "a step that looks ahead": (DRIVE, "return (affine(w.V, x, w.b).cumsum(1).flip(1),)",
        {"Outputs depend on all earlier inputs and on no later one.": "the input of step 2 changes an output bef",
         "A sequence in pieces or step by step gives the same as in one call.": "in pieces of 3 steps the outputs"}),
    "a parameter that is not used": (STEP, STEP.replace("w.dt", "0.5 + 0.0 * w.dt"),
        {"Every hyper-parameter matters.": "dt changes no output"}),
    "a weight that is not used": (DRIVE, "return (affine(w.V, x),)",
        {"Every weight is used and gets a gradient.": "b gets no gradient: nothing depends on it, or it is detached"}),
    "a wrong count": ("d * p + d * d + d +", "d * p + d * d +",
        {"The stated number of parameters is right.": "count(1, 1, 1) is 4, but it has 5 trainable parameters"}),
    "a state of the call before": (
        STEP, "self.n = getattr(self, 'n', 0) + 1; " + STEP.replace("w.dt", "w.dt / (1 + self.n % 2)"),
        {"A sequence in pieces or step by step gives the same as in one call.": "in pieces of 3 steps the outputs"}),
    "an input too faint to be learned": (STEP, STEP.replace("u[0])", "1e-4 * u[0])"),
        {"Training makes it better than the classes' shares.": "after 150 steps of training its loss is 0.6"}),
    "random numbers of no seed": (STEP, STEP.replace("u[0])", "u[0] + 0.1 * y.new_empty(y.shape).normal_())"),
        {"The initial weights depend on the seed alone, in a pack as well.": "the same call gives different"}),
    "another dtype": (STEP, STEP.replace("w.dt),", "w.dt).double(),"),
        {"float32 agrees with float64.": ""}),
    "an error": (STEP, "raise RuntimeError('no idea')",
        {"Outputs have shape (M, T, B, d), states the declared": "RuntimeError: no idea, line 44"}),
    "a step that returns a tensor": (STEP, STEP.replace("return (", "return ").removesuffix(",)"),
        {"Outputs have shape (M, T, B, d), states": "step must return a tuple of tensors (y,), got Tensor"}),
    "a drive that returns a tensor": (DRIVE, DRIVE.replace("return (", "return ").removesuffix(",)"),
        {"Outputs have shape (M, T, B, d), states": "drive must return a tuple of tensors, got Tensor"}),
    "an error of torch below it": (STEP, STEP.replace("u[0]", "u[0][..., :1, :, :]")[:-1] + " + y[0, 0, 0, 0, 0, 0],)",
        {"Outputs have shape (M, T, B, d), states the declared": ", line 44"}),
    "numbers that are not finite": (STEP, STEP.replace("w.dt)", "w.dt / (w.dt - 1.0))"),
        {"Parameters at the ends of their ranges give finite numbers.": "dt = 1 gives numbers that are not finite"}),
    "no words": ('source="this test"', 'source=""', {"Its description is complete, and it stores": "it has no source"}),
}  # fmt: skip
"""What is wrong: the text that is replaced, by what, and the rules that say so, how they begin, with what they say."""
TASKS = {
    "test examples among the training ones": ("test=sequences(2**31 + 2, 50)", "test=sequences(0, 50)",
        {"No example is in two splits.": "of the test split are in the train split, too"}),
    "draws of no seed": (", generator=torch.Generator().manual_seed(seed)", "",
        {"The data are the same each time, and a stream follows": "the data differ when loaded twice"}),
    "one seed for all": (".manual_seed(seed)", "",
        {"The data are the same each time, and a stream": "the stream gives the same examples for another seed"}),
    "a metric upside down": ("metric=ACCURACY", 'metric=replace(ACCURACY, goal="min")',
        {"Loss and metric agree on the right answers": "the accuracy of the right answers is not best"}),
    "a metric below zero": ("metric=ACCURACY", 'metric=replace(ACCURACY, goal="min", finish=lambda ratio: -ratio)',
        {"Loss and metric agree on the right answers": "the accuracy of the right answers is -100, but 0 is the best"}),
    "one loss for all": ("loss=cross_entropy", "loss=lambda o, t: cross_entropy(o, t).mean()",
        {"Loss and metric agree on the right answers": "the loss of 3 members is (): give one number a member"}),
    "another size": ("inputs=1", "inputs=2",
        {"Its batches have the declared sizes": "train: inputs are (8, 12, 1), not (n, steps, 2)"}),
    "a chance level too high": ("chance=50.0", "chance=70.0",
        {"Its chance level is that": "chance is 70 %, and a guess among its 2 classes scores 50 %"}),
    "any variant": ('check_variant("sign", variant)', "pass",
        {"Unknown variants are rejected.": "a variant 'nonsense_' is loaded: begin with check_variant"}),
    "no trivial predictor": ('"majority": Majority(2)', "", {"Its trivial predictors run.": "it has no trivial"}),
    "an unknown optimiser": ("batch=10,", 'batch=10, optimiser="adm",', {"Its recipes use only": "Did you mean"}),
    "no licence": ("generated, none", "", {"Its description is complete": "it has no licence"}),
}  # fmt: skip


def wrong(path: Path) -> dict[str, RuleOutcome]:
    """Return the broken rules of a plugin by their words."""
    ((_, outcomes),) = check_file(path)
    return {finding.words: finding for finding in outcomes if finding.broken}


@pytest.mark.parametrize("text", [LEAKY, SIGN], ids=["model", "task"])
def test_what_is_right_keeps_every_rule(text: str, tmp_path: Path) -> None:
    assert wrong(written(tmp_path / f"{'leaky' if text == LEAKY else 'sign'}.py", text)) == {}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_model_is_told_by_the_rule_that_it_breaks(what: str, tmp_path: Path) -> None:
    old, new, rules = BROKEN[what]
    assert LEAKY.count(old) == 1
    check_messages(wrong(written(tmp_path / "leaky.py", LEAKY.replace(old, new))), rules)


@pytest.mark.parametrize("what", TASKS)
def test_a_broken_task_is_told_by_the_rule_that_it_breaks(what: str, tmp_path: Path) -> None:
    old, new, rules = TASKS[what]
    assert SIGN.count(old) == 1
    text = SIGN.replace(old, new).replace(
        "from functools import cache", "from dataclasses import replace\nfrom functools import cache"
    )
    check_messages(wrong(written(tmp_path / "sign.py", text)), rules)


def check_messages(outcomes: dict[str, RuleOutcome], rules: dict[str, str]) -> None:
    for start, message in rules.items():
        assert any(words.startswith(start) and message in f.broken for words, f in outcomes.items()), outcomes
    assert all("\n" not in finding.broken for finding in outcomes.values())


def test_the_command_ends_with_1_and_a_line_a_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "leaky.py", LEAKY.replace("d * p + d * d + d +", "d * p + d +"))
    assert main(["check", str(path)]) == 1
    out = capsys.readouterr().out
    assert "  ✗ The stated number of parameters is right.\n      count(1, 1, 1) is 4, but it has 5" in out
    assert "  ✓ No member affects another, whatever happens to it.\n" in out
    assert out.endswith("model my-leaky: 1 of 19 rules fails.\n")
    assert main(["check", str(tmp_path / "gone.py")]) == 2
    assert capsys.readouterr().err.startswith("longwave: Cannot read the plugin ")


def test_a_rule_that_says_nothing_of_a_model_is_told_with_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "leaky.py", LEAKY.replace(STEP, STEP.replace("tanh(affine(w.W, y, u[0]))", ODD)))
    path.write_text(path.read_text().replace("from torch import", "import torch\nfrom torch import"))
    assert main(["check", str(path)]) == 0
    out = capsys.readouterr().out
    assert "  – The fused loop agrees with the plain one.\n      its loop is not fused: " in out
    assert out.endswith("model my-leaky: 18 rules pass; 1 does not apply.\n")


@pytest.mark.parametrize("kind", ["model", "task"])
def test_what_new_writes_keeps_every_rule(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", kind, "my_first", "--to", str(tmp_path / "a/b")]) == 0
    path = tmp_path / "a/b/my_first.py"
    assert f"longwave check {path}" in capsys.readouterr().out
    assert main(["check", str(path)]) == 0
    before = path.read_text()
    assert main(["new", kind, "my_first", "--to", str(tmp_path / "a/b")]) == 2
    assert "already exists. Choose another name" in capsys.readouterr().err and path.read_text() == before


@settings(max_examples=25)
@given(
    name=st.one_of(st.from_regex(WORD, fullmatch=True), st.sampled_from(["tensor", "true", "none", "class", "data"]))
)
def test_whatever_the_name_what_new_writes_binds_it(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("new")
    for kind, get in (("model", get_model), ("task", get_task)):
        forget_plugins()
        add_plugin(write_new(kind, name, folder / kind))  # type: ignore[arg-type]
        assert get(f"my-{name}").name == f"my-{name}"


@pytest.mark.parametrize("name", ["LEM", "my-model", "1st", "", "../up", "a b", "é"])
def test_new_refuses_what_is_no_name(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "model", "--to", str(tmp_path), "--", name]) == 2
    assert "has lowercase letters, digits and _" in capsys.readouterr().err and not [*tmp_path.iterdir()]
