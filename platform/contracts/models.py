"""The contract of models: its rules in words, in the order in which a reader wants to hear of them."""

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
    """Return a check that says nothing of layers that read no sequences."""

    def checked(case: Case) -> None:
        if not issubclass(case.spec.layer, SequenceLayer):
            raise NotMeant(f"it reads {case.spec.layer.READS.__name__}, and this is checked of sequences")
        check(case)

    return checked


RULES: Sequence[Rule[Case]] = (
    Rule("It says what it is, and holds the numbers that it declares.", layers.check_declared),
    Rule("A hyper-parameter that is not valid is refused.", layers.check_refuses),
    Rule("In evaluation an example alone gives what it gives in any batch.", calls.check_independent),
    Rule("No state is the zero state, and no call depends on the calls before it.", calls.check_fresh),
    Rule("A call changes nothing of the layer, its inputs or shared random numbers.", calls.check_unchanged),
    *(
        Rule(words, _of_sequences(check), quick=check not in SLOW)
        for words, check in (
            ("Outputs are (M, T, B, d), states as declared; batch first swaps two axes.", layers.check_shapes),
            ("No output depends on a later input, and every later one does.", layers.check_causal),
            ("A sequence in pieces, and step by step, gives what one call gives.", layers.check_streams),
            ("Each member of a pack computes what it computes alone.", layers.check_alone),
            ("Members never mix, whatever happens to one of them.", layers.check_unmixed),
            ("A seed decides the start, in a pack as alone; nothing else does.", layers.check_seeded),
            ("Gradients equal finite differences in float64.", gradients.check_differentiable),
            ("Every weight is used and learns.", gradients.weights_used),
            ("Every hyper-parameter matters.", gradients.numbers_matter),
            ("The ends of every range give finite numbers.", gradients.ends_of_ranges),
            ("The count of trainable numbers is right.", layers.check_count),
            ("float32 gives what float64 gives.", layers.of_dtype),
            ("The fused loop computes what the plain one computes.", loops.check_fused),
            ("Training makes its loss fall.", layers.check_learns),
        )
    ),
)


def model_findings(spec: ModelSpec, quick: bool = False) -> Iterator[RuleOutcome]:
    """Yield how each rule, or each that is quick, stands for a model, over all its options."""
    return check_subjects([rule for rule in RULES if rule.quick or not quick], make_cases(spec))
