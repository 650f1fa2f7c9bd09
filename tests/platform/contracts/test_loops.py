"""Surrogate gradients, which once declared are not asked for their slope; and fused loops, which nothing excuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from plugin_files import LEAKY, written

from longwave.models.kernels import using
from longwave.platform.cli.main import main
from longwave.platform.contracts.models import RULES
from longwave.platform.contracts.rule import RuleOutcome, check_subjects
from longwave.platform.contracts.small import make_cases
from longwave.platform.plugins.known import add_plugin
from longwave.platform.registry import get_model

SLOPES = "Gradients equal finite differences in float64."
FUSED = "The fused loop agrees with the plain one."
STEP = "return (lerp(y, tanh(affine(w.W, y, u[0])), w.dt),)"
ROUNDED = "y = lerp(y, tanh(affine(w.W, y, u[0])), w.dt)\n        return (y + (0.5 * y.sign() - 0.5 * y).detach(),)"
"""A straight-through step: half of the sign, with the gradient of what it rounds."""
DECLARED = "    PARAMS = (DT,)\n    SURROGATE = True\n"


def outcome(words: str, text: str, folder: Path) -> RuleOutcome:
    """Return how one rule stands for a plugin."""
    add_plugin(written(folder / "leaky.py", text))
    (only,) = check_subjects([rule for rule in RULES if rule.words == words], make_cases(get_model("my-leaky")))
    return only


def test_a_surrogate_gradient_that_is_not_declared_is_no_slope(tmp_path: Path) -> None:
    slopes = outcome(SLOPES, LEAKY.replace(STEP, ROUNDED), tmp_path)
    assert slopes.broken.startswith("the gradient of the input differs from finite differences")


def test_a_declared_surrogate_gradient_is_not_asked_for_its_slope_and_every_other_rule_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = LEAKY.replace(STEP, ROUNDED).replace("    PARAMS = (DT,)\n", DECLARED)
    with using("reference"):
        assert main(["check", str(written(tmp_path / "leaky.py", text))]) == 0
    words = f"  – {SLOPES}\n      not checked: the layer declares a surrogate gradient.\n"
    assert words in capsys.readouterr().out


OTHERWISE = {
    "outputs": ("y = 0.5 * y", "the fused loop gives a different output"),
    "gradients through time": ("y = y.detach()", "the fused loop gives a different gradient of input"),
    "a number's gradient": ("w = replace(w, dt=w.dt.detach())", "the fused loop gives a different gradient of dt"),
    "a weight's gradient": ("w = replace(w, W=w.W.detach())", "the fused loop gives a different gradient of W"),
}
"""What a step does that is not in the step that the layer gives to be compiled, and the message."""
COMPILED = """
    def recurrent(self, inputs):
        return replace(super().recurrent(inputs), step=lambda u, state, late, w: self.body(u, state, w))

    def step(self, u: tuple[Tensor, ...], state: State, w: LeakyWeights) -> State:
        (y,) = state
        {}
        return self.body(u, (y,), w)

    def body("""


@pytest.mark.parametrize("what", OTHERWISE)
def test_no_declaration_lets_a_fused_loop_compute_anything_else(what: str, tmp_path: Path) -> None:
    line, message = OTHERWISE[what]
    text = LEAKY.replace("    PARAMS = (DT,)\n", DECLARED).replace("\n    def step(", COMPILED.format(line))
    text = text.replace("import dataclass\n", "import dataclass, replace\n")
    text = text.replace(
        "import ModelSpec\n", "import ModelSpec\nfrom longwave.models.kernels.compiler.trace import Recurrent\n"
    )
    assert outcome(FUSED, text, tmp_path).broken == message
