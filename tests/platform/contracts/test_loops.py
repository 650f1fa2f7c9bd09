"""Surrogate gradients, which once declared are not asked for their slope; and fused loops, which nothing excuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from plugin_files import LEAKY, written

from longwave.models.kernels import using
from longwave.platform.cli.main import main
from longwave.platform.contracts.models import RULES
from longwave.platform.contracts.rule import RuleOutcome, findings
from longwave.platform.contracts.small import cases
from longwave.platform.plugins.known import bring
from longwave.platform.registry import get_model

SLOPES = "Gradients equal finite differences in float64."
FUSED = "The fused loop computes what the plain one computes."
STEP = "return (lerp(y, tanh(affine(w.W, y, u[0])), w.dt),)"
ROUNDED = "y = lerp(y, tanh(affine(w.W, y, u[0])), w.dt)\n        return (y + (0.5 * y.sign() - 0.5 * y).detach(),)"
"""A straight-through step: half of the sign, with the gradient of what it rounds."""
DECLARED = "    PARAMS = (DT,)\n    SURROGATE = True\n"


def outcome(words: str, text: str, folder: Path) -> RuleOutcome:
    """Return how one rule stands for a plugin."""
    bring(written(folder / "leaky.py", text))
    (found,) = findings([rule for rule in RULES if rule.words == words], cases(get_model("my-leaky")))
    return found


def test_a_surrogate_gradient_that_is_not_declared_is_no_slope(tmp_path: Path) -> None:
    found = outcome(SLOPES, LEAKY.replace(STEP, ROUNDED), tmp_path)
    assert found.broken.startswith("the gradient of the input is not the slope that finite differences show")


def test_a_declared_surrogate_gradient_is_not_asked_for_its_slope_and_every_other_rule_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = LEAKY.replace(STEP, ROUNDED).replace("    PARAMS = (DT,)\n", DECLARED)
    with using("reference"):
        assert main(["check", str(written(tmp_path / "leaky.py", text))]) == 0
    words = f"  – {SLOPES}\n      not asked: the layer declares a surrogate gradient.\n"
    assert words in capsys.readouterr().out


OTHERWISE = {
    "outputs": ("y = y * 0.5 if y.is_meta else y", "the fused loop gives another output"),
    "gradients through time": ("y = y if y.is_meta else y.detach()", "the fused loop gives another gradient of input"),
    "a number's gradient": (
        "w = w if y.is_meta else replace(w, dt=w.dt.detach())", "the fused loop gives another gradient of dt"),
    "a weight's gradient": (
        "w = w if y.is_meta else replace(w, W=w.W.detach())", "the fused loop gives another gradient of W"),
}  # fmt: skip
"""Steps that are others where they are compiled, on tensors without numbers: what differs, and what is said of it."""


@pytest.mark.parametrize("what", OTHERWISE)
def test_no_declaration_lets_a_fused_loop_compute_anything_else(what: str, tmp_path: Path) -> None:
    line, told = OTHERWISE[what]
    text = LEAKY.replace("(y,) = state", f"(y,) = state\n        {line}").replace("    PARAMS = (DT,)\n", DECLARED)
    text = text.replace("import dataclass\n", "import dataclass, replace\n")
    assert outcome(FUSED, text, tmp_path).broken == told
