"""Comparison of a published number with our scores: the number, its protocol, and the verdict."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from longwave.platform.literature.published import NOWHERE, as_printed, rounding
from longwave.platform.records.about import About
from longwave.platform.records.trial import TrialConfig
from longwave.platform.statistics.printed import Printed
from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.statistics.tuning import FACTOR, chance_to_improve
from longwave.platform.statistics.verdict import verdict
from longwave.tasks.base.variants import split_fresh

NOT_RUN = "not run"
"""In place of a verdict if the model was not retrained here."""
OTHER_PROTOCOL = "other protocol"
"""In place of a verdict if the two protocols differ: the ratio is shown, but does not judge the paper."""
NOT_TUNED = "not tuned"
"""Replaces ``worse`` if the winner lies at an edge of its search range, or doubling the search would improve the error
by 1.25 in more than ``TUNED`` of cases, or the search is too short to say."""
TUNED = 0.05
PAPERS = {"cornn": "coRNN", "lem": "LEM", "lipschitz": "Lipschitz RNN", "lra": "Long Range Arena", "mamba": "Mamba",
          "taugru": "τ-GRU", "thesis": "the thesis", "xlstm": "xLSTM"}  # fmt: skip
"""Names of the papers whose protocols are known; UnICORNN's is taken from the thesis, as its paper is not available."""
BLOCK = ("block", "depth", "norm", "nonlinearity", "glu", "conv")
"""Options of residual blocks, in the order of their names in numbers; see ``models.base.block_options``."""
KEPT = ("value", "std", "statistic", "n", "units", "model_variant", "note")


def belongs(number: Mapping[str, Any], variant: str, about: About) -> bool:
    """Return whether a published number is for our variant and for the metric of ``about``.

    Fresh test data have the same distribution, so numbers of the plain variant apply to them too.
    """
    return bool(number["metric"] == about.metric and number["ours"] == split_fresh(variant)[0])


def same_form(number: Mapping[str, Any], config: TrialConfig, about: About) -> bool:
    """Return whether a published number is for a row's model, in the same form and residual block."""
    return bool(
        number["model"] == config.model
        and number["model_variant"] in about.called
        and number["block"] == block_of(config)
    )


def block_of(config: TrialConfig) -> str:
    """Return the residual block of a row: its non-default options and width; empty without a block.

    ``block=pre depth=6 norm=batch width=512``.
    """
    if "block" not in config.options:
        return ""
    block_options = {name: config.options[name] for name in BLOCK if name in config.options}
    return " ".join(
        f"{name}={value}" for name, value in {**block_options, "width": config.width or config.hidden}.items()
    )


def unpaired(number: Mapping[str, Any], metrics: Mapping[str, str], forms: Mapping[str, Collection[str]]) -> str:
    """Return why no row of ours can be compared with a published number; empty if one can.

    Args:
        number: One of ``published_rows``.
        metrics: Metric of each task of ours.
        forms: Names in print of the forms of each model of ours.
    """
    model, metric = number["model"], metrics.get(number["task"])
    if metric is None:
        return "task not here"
    if model not in forms:
        return "model not here"
    if metric != number["metric"]:
        return f"metric differs: ours is {metric}"
    if number["ours"] == NOWHERE:
        return "validation split" if number["variant"].startswith("split=val") else "variant not here"
    if number["model_variant"] not in forms[model]:
        return "form not here"
    return "block not here" if number["block"] == NOWHERE else ""


def quoted(number: Mapping[str, Any]) -> dict[str, Any]:
    """Return a published number without a row, in the format of ``pair_number``; its ``verdict`` is ``not run``."""
    sources = str(number["sources"]).split("\n")
    source, _, table = sources[0].partition(", ")
    return {
        **{name: number[name] for name in KEPT},
        "printed": as_printed(number["printed"]),
        "parameters": number["params"],
        "source": source,
        "table": table,
        "sources": sources,
        "kind": _printed(number).kind,
        "verdict": NOT_RUN,
        "ratio": None,
        "ratio_low": None,
        "ratio_high": None,
        "n_ours": 0,
        "diverged_ours": 0,
        "more": None,
        "limit": False,
        "why": "",
        "departures": [],
    }


def _why_not_tuned(errors: Sequence[float], edges: Sequence[str] | None) -> str:
    """Return why another search may find a better setting; empty if it would hardly, or if there was no search.

    Args:
        errors: Validation errors of all trials of the search.
        edges: Parameters of the winner that lie at an edge of their range; None if the ranges are unknown.
    """
    if edges:
        return f"a better setting may lie outside what was searched: {'; '.join(edges)}"
    if not errors:
        return ""
    if edges is None:
        return "the ranges of the search are unknown, so a better setting may lie outside them"
    chance = chance_to_improve(errors)
    if chance is None:
        return "too few trials of the search have a score to say whether a longer one would be better"
    improves = f"doubling the number of trials would improve the best validation error by {FACTOR:g}"
    return f"{improves} with a chance of {100 * chance:.0f} %" if chance > TUNED else ""


def pair_number(
    number: Mapping[str, Any],
    scores: Sequence[Score],
    scale: Scale,
    about: About,
    config: TrialConfig,
    drawn: Sequence[Score] = (),
    edges: Sequence[str] | None = (),
) -> dict[str, Any]:
    """Return a published number with the verdict on the ``scores``, (n,), of a row. The verdict also depends on the
    search: ``drawn`` are the validation scores of all its trials, None for trials without, and ``edges`` say which
    parameters of the winner lie at an edge of their range. Without a search the setting is the paper's.

    Its keys: ``value``, ``std``, ``statistic``, ``n`` (None where not printed), ``units``, ``parameters``,
    ``model_variant``, ``note``, ``printed`` with all its digits; ``source`` and ``table`` of the first source,
    ``sources`` in full; of ``verdict.Verdict`` its ``kind``, ``more``, ``limit`` and ``why``, the word as ``verdict``,
    ``ratio`` with its ends ``ratio_low`` and ``ratio_high``, ``n`` as ``n_ours``, ``diverged`` as ``diverged_ours``;
    ``departures``, all differences between the two protocols. If there are any, the verdict is ``other protocol``: the
    numbers are not comparable, and their ratio decides nothing.
    """
    differs = departures(number, about, config, scale)
    trivial = min(about.trivial.values(), key=scale.error, default=None)
    printed = _printed(number, "reported" if _worst(number, scale) else number["statistic"])
    judged = verdict(scores, printed, scale, about.margin, trivial)
    ratio, word, why = judged.ratio, str(judged.word), judged.why
    if word == "worse" and (untuned := _why_not_tuned(scale.errors(drawn), edges)):
        word, why = NOT_TUNED, untuned
    return {
        **quoted(number),
        "verdict": OTHER_PROTOCOL if differs else word,
        "ratio": ratio and ratio.value,
        "ratio_low": ratio and ratio.low,
        "ratio_high": ratio and ratio.high,
        "n_ours": judged.n,
        "diverged_ours": judged.diverged,
        "more": None if differs else judged.more,
        "limit": judged.limit and not differs,
        "why": "" if differs else why,
        "kind": judged.kind,
        "departures": differs,
    }


def departures(number: Mapping[str, Any], about: About, config: TrialConfig, scale: Scale) -> list[str]:
    """Return the differences between the protocols of a row and a published number, one sentence each."""
    differences = [*_sizes(number, about, config), *_fixed(number, config)]
    if _worst(number, scale):
        differences.append(f"the worst of {number['n'] or 'several'} runs is printed")
    if not about.recipe:
        differences.append("recipe not recorded")
    differences += [
        departure for departure in about.departures if not (number["units"] and departure.startswith("hidden "))
    ]
    differences += _recipe(number, about)
    for text, papers in about.known.items():
        if text not in about.minor and (not papers or number["paper"] in papers):
            differences.append(text)
    return differences


def credited(number: Mapping[str, Any]) -> str:
    """Return whose run a published number is: the paper's name, or whom its first source credits."""
    credit: str = number["sources"].partition("\n")[0].partition(" (")[2].removesuffix(")")
    return PAPERS.get(number["paper"], credit)


def _sizes(number: Mapping[str, Any], about: About, config: TrialConfig) -> list[str]:
    """Return differences in the printed sizes; older rows do not record layers."""
    units, layers = number["units"], number["layers"]
    departures = [f"hidden {config.hidden} (printed {units})"] if units and units != str(config.hidden) else []
    if layers and about.layers and layers != about.layers:
        departures.append(f"layers {about.layers} (printed {layers})")
    return departures


def _fixed(number: Mapping[str, Any], config: TrialConfig) -> list[str]:
    """Return differences in printed parameters; those that a row does not name have their default, as printed."""
    pairs = (part.partition("=") for part in number["fixed"].split())
    printed = {name: float(value) for name, _, value in pairs}
    actual = {name: config.params.get(name, value) for name, value in printed.items()}
    return [f"{name} {actual[name]:g} (printed {value:g})" for name, value in printed.items() if actual[name] != value]


def _recipe(number: Mapping[str, Any], about: About) -> list[str]:
    """Return the difference if the row's recipe is not that of the paper whose run the number is."""
    paper = number["paper"]
    if not paper:
        return [f"a run by others, whose recipe is unknown here: {credited(number)}"]
    if not about.recipe or about.paper == paper:
        return []
    return [f"recipe {'of ' if about.paper else ''}{about.recipe}; the number is a run of {credited(number)}"]


def _worst(number: Mapping[str, Any], scale: Scale) -> bool:
    """Return whether the printed number is the worst of several runs."""
    return bool(number["statistic"] == {"max": "min", "min": "max"}[scale.goal])


def _printed(number: Mapping[str, Any], statistic: str | None = None) -> Printed:
    return Printed(
        number["value"],
        statistic or number["statistic"],
        number["std"],
        number["n"],
        rounding(number["printed"]),
    )
