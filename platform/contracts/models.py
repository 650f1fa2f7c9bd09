"""All rules for models, in order of importance to a reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from longwave.models.base.sequence import SequenceLayer
from longwave.models.base.spec import ModelSpec
from longwave.platform.contracts import calls, gradients, layers, loops
from longwave.platform.contracts.rule import NotMeant, Rule, RuleOutcome, check_subjects
from longwave.platform.contracts.small import Case, make_cases

SLOW = (gradients.check_differentiable, layers.check_learns)
"""Checks that take seconds."""


def _of_sequences(check: Callable[[Case], None]) -> Callable[[Case], None]:
    """Return a check that is skipped for layers that do not read sequences."""

    def checked(case: Case) -> None:
        if not issubclass(case.spec.layer, SequenceLayer):
            raise NotMeant(f"it reads {case.spec.layer.READS.__name__}, and this is checked of sequences")
        check(case)

    return checked


RULES: Sequence[Rule[Case]] = (
    Rule("Its description is complete, and it stores the values it declares.", layers.check_declared),
    Rule("Invalid hyper-parameters are rejected.", layers.check_refuses),
    Rule("In evaluation, an example gives the same alone as in any batch.", calls.check_independent),
    Rule("Without a state it starts from zeros, and no call depends on earlier calls.", calls.check_fresh),
    Rule("A call changes neither the layer, its inputs nor shared random numbers.", calls.check_unchanged),
    *(
        Rule(words, _of_sequences(check), quick=check not in SLOW)
        for words, check in (
            (
                "Outputs have shape (M, T, B, d), states the declared ones; batch_first swaps two axes.",
                layers.check_shapes,
            ),
            ("Outputs depend on all earlier inputs and on no later one.", layers.check_causal),
            ("A sequence in pieces or step by step gives the same as in one call.", layers.check_streams),
            ("Each member of a pack computes what it computes alone.", layers.check_alone),
            ("No member affects another, whatever happens to it.", layers.check_unmixed),
            ("The initial weights depend on the seed alone, in a pack as well.", layers.check_seeded),
            ("Gradients equal finite differences in float64.", gradients.check_differentiable),
            ("Every weight is used and gets a gradient.", gradients.weights_used),
            ("Every hyper-parameter matters.", gradients.numbers_matter),
            ("Parameters at the ends of their ranges give finite numbers.", gradients.ends_of_ranges),
            ("The stated number of parameters is right.", layers.check_count),
            ("float32 agrees with float64.", layers.of_dtype),
            ("The fused loop agrees with the plain one.", loops.check_fused),
            ("Training makes it better than the classes' shares.", layers.check_learns),
        )
    ),
)


def model_findings(spec: ModelSpec, quick: bool = False) -> Iterator[RuleOutcome]:
    """Yield the outcome of each rule, or of each quick one, for a model, over all its options."""
    return check_subjects([rule for rule in RULES if rule.quick or not quick], make_cases(spec))
