"""Every model that is shipped keeps the contract of models, with its defaults and with each other choice."""

from __future__ import annotations

import pytest
from cases import Options, every_case, graph_models
from tiers import mark_long

from longwave.models.base.spec import ModelSpec
from longwave.platform.contracts.models import RULES, model_findings
from longwave.platform.contracts.rule import check_subjects
from longwave.platform.contracts.small import Case

LONG = ("residual_unicornn", "residual_unicornn-layers=3", "residual_unicornn-layers=4", "residual_unicornn-skip=3",
        "residual_unicornn-multiscale=False", "unicornn", "unicornn-layers=2", "unicornn-multiscale=False", "mamba",
        "mamba2", "mamba2-heads=1", "mamba2-heads=2", "mamba2-states=16", "mamba2-states=32", "s4d",
        "s4d-states=16", "rwkv7", "rwkv7-heads=1", "rwkv7-heads=2", "multilayer_oscillator-scheme=symplectic",
        "mamba-states=4", "mamba-states=8", "mamba-eigenvalues=-1-1", "transformer",
        "transformer-layers=1", "transformer-layers=3", "transformer-heads=1", "transformer-heads=2",
        "gated_deltaproduct-products=3", "multilayer_oscillator-activation=sin", "tau_gru-form=delayed weighting",
        "lrcssm-elastance=symmetric",
        )  # fmt: skip
SLOPES = "Gradients equal finite differences in float64."
FUSED = "The fused loop agrees with the plain one."
STREAMED = "A sequence in pieces or step by step gives the same as in one call."


@pytest.mark.parametrize("spec, options", mark_long({case.id: case.values for case in every_case()}, *LONG))
def test_a_model_keeps_every_rule(spec: ModelSpec, options: Options) -> None:
    actual = [*check_subjects(RULES, [("", Case(spec, options))])]
    assert not [(finding.words, finding.broken) for finding in actual if finding.broken]
    stateless = set() if spec.layer.STATE else {STREAMED}
    surrogate = {SLOPES} if spec.layer.SURROGATE else set()
    assert {finding.words for finding in actual if finding.skipped} <= {FUSED} | stateless | surrogate


@pytest.mark.parametrize("spec", graph_models().values(), ids=graph_models())
def test_a_model_of_graphs_keeps_the_rules_of_all_layers(spec: ModelSpec) -> None:
    if spec.lacks():
        pytest.skip(spec.lacks())
    actual = [*model_findings(spec)]
    assert not [(finding.words, finding.broken) for finding in actual if finding.broken]
    assert sum(not finding.skipped for finding in actual) == 5
