"""Published parameter counts, reproduced by built networks; those that no model reproduces, each with its reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from cases import every_choice, sequence_models
from hypothesis import given, settings
from hypothesis import strategies as st

from longwave.models.base.network import Network
from longwave.models.base.param import OptionValue
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec, Sizes
from longwave.platform.literature.published import published_rows
from longwave.platform.registry import all_models, get_model

Options = dict[str, OptionValue]
ONE: Options = {"biases": 1}
FOUR: Options = {"biases": 4}


def required(spec: ModelSpec, options: Options, members: int = 1) -> dict[str, list[float]]:
    params = spec.layer.relevant({**spec.defaults, **options})
    return {p.name: [p.high] * members for p in params if p.default is None}


def network_count(name: str, options: Options, p: int, d: int, q: int, members: int = 1) -> int:
    """The trainable parameters of a built network, read-out included."""
    spec = get_model(name)
    sizes = Sizes(p, d, q, 9)
    return Network(spec, sizes, required(spec, options, members), range(members), options).parameter_count()


def layer(name: str, options: Options, p: int, d: int) -> Recurrence:
    spec = get_model(name)
    return spec.build(Sizes(p, d, 1, 9), 1, **required(spec, options), **options)


def cell_count(name: str, options: Options, p: int, d: int) -> int:
    """The trainable parameters of a built layer alone."""
    return sum(w.numel() for w in layer(name, options, p, d).parameters())


def agrees(exact: int, printed: str) -> bool:
    """Whether a printed count, such as 1.5k or 5M, is the exact one rounded or cut off to as many digits."""
    number, unit = printed[:-1], {"k": 1_000, "M": 1_000_000}[printed[-1]]
    digits = 10 ** len(number.partition(".")[2])
    wanted = round(float(number) * digits)
    return wanted in (exact * digits // unit, (exact * digits + unit // 2) // unit)


PUBLISHED: list[tuple[str, Options, str, int, int, int, int, str]] = [
    ("cornn", {}, "sMNIST", 1, 128, 10, 34_314, "34k"),
    ("cornn", {}, "sMNIST", 1, 256, 10, 134_154, "134k"),
    ("cornn", {}, "nCIFAR", 96, 128, 10, 46_474, "46k"),
    ("cornn", {}, "HAR-2", 9, 64, 1, 8_897, "9k"),
    ("cornn", {}, "HAR-2", 9, 20, 1, 1_021, "1k"),
    ("cornn", {}, "IMDB", 100, 128, 1, 45_825, "46k"),
    ("cornn", {}, "Lorenz96", 5, 64, 5, 8_901, "9k"),
    ("cornn", {}, "EigenWorms", 6, 32, 5, 2_437, "2.4k"),
    ("cornn", {}, "FitzHugh-Nagumo", 1, 24, 1, 1_225, "1k"),
    ("cornn", {}, "Google12", 80, 128, 12, 44_684, "44k"),
    ("cornn", {}, "ENSO", 1, 16, 1, 561, "0.561k"),
    ("lipschitz_rnn", {}, "sMNIST", 1, 64, 10, 8_970, "9k"),
    ("lipschitz_rnn", {}, "sMNIST", 1, 128, 10, 34_314, "34k"),
    ("lipschitz_rnn", {}, "sCIFAR", 3, 128, 10, 34_570, "34k"),
    ("lipschitz_rnn", {}, "nCIFAR", 96, 128, 10, 46_474, "46k"),
    ("lipschitz_rnn", {}, "sCIFAR", 3, 256, 10, 134_666, "134k"),
    ("lipschitz_rnn", {}, "nCIFAR", 96, 256, 10, 158_474, "158k"),
    ("lipschitz_rnn", {}, "TIMIT", 129, 256, 129, 197_505, "198k"),
    ("lipschitz_rnn", {"scheme": "rk2"}, "ENSO", 1, 16, 1, 561, "0.561k"),
    ("lipschitz_rnn", {}, "FitzHugh-Nagumo", 1, 24, 1, 1_225, "1k"),
    ("lipschitz_rnn", {}, "HAR-2", 9, 64, 1, 8_897, "9k"),
    ("antisymmetric_rnn", {}, "sMNIST", 1, 128, 10, 9_674, "10k"),
    ("antisymmetric_rnn", {}, "sCIFAR", 3, 256, 10, 36_234, "36k"),
    ("antisymmetric_rnn", {}, "HAR-2", 9, 120, 1, 8_461, "8k"),
    ("antisymmetric_rnn", {}, "Google12", 80, 128, 12, 20_044, "20k"),
    ("gated_antisymmetric_rnn", {}, "sCIFAR", 3, 256, 10, 37_258, "37k"),
    ("tanh_rnn", {}, "ENSO", 1, 16, 1, 321, "0.321k"),
    ("gru", ONE, "sMNIST", 1, 256, 10, 200_714, "201k"),
    ("gru", ONE, "sMNIST, cut off", 1, 256, 10, 200_714, "200k"),
    ("gru", {}, "sMNIST, two biases", 1, 256, 10, 201_482, "201k"),
    ("gru", ONE, "nCIFAR", 96, 128, 10, 87_690, "88k"),
    ("gru", {}, "nCIFAR, two biases", 96, 128, 10, 88_074, "88k"),
    ("gru", {}, "ENSO", 1, 16, 1, 929, "0.929k"),
    ("gru", ONE, "HAR-2", 9, 75, 1, 19_201, "19k"),
    ("gru", {}, "HAR-2, two biases", 9, 75, 1, 19_426, "19k"),
    ("gru", ONE, "IMDB", 300, 128, 1, 164_865, "164k"),
    ("gru", ONE, "IMDB, thesis", 300, 128, 1, 164_865, "165k"),
    ("gru", ONE, "IMDB, thesis, 128 inputs", 128, 128, 1, 98_817, "99k"),
    ("lstm", ONE, "sMNIST", 1, 128, 10, 67_850, "68k"),
    ("lstm", {}, "sMNIST, two biases", 1, 128, 10, 68_362, "68k"),
    ("chrono_lstm", {}, "sMNIST", 1, 128, 10, 68_362, "68k"),
    ("lstm", ONE, "sMNIST", 1, 256, 10, 266_762, "267k"),
    ("lstm", ONE, "nCIFAR", 96, 128, 10, 116_490, "116k"),
    ("lstm", ONE, "sCIFAR", 3, 128, 10, 68_874, "69k"),
    ("lstm", {}, "sCIFAR, two biases", 3, 128, 10, 69_386, "69k"),
    ("lstm", {}, "EigenWorms", 6, 32, 5, 5_285, "5.3k"),
    ("chrono_lstm", {}, "EigenWorms", 6, 32, 5, 5_285, "5.3k"),
    ("dt_lstm", {}, "EigenWorms", 6, 32, 5, 5_285, "5.3k"),
    ("lstm", ONE, "BIDMC32HR", 2, 128, 1, 67_201, "67k"),
    ("lstm", {}, "ENSO", 1, 16, 1, 1_233, "1.233k"),
    ("lstm", ONE, "HAR-2", 9, 64, 1, 19_009, "19k"),
    ("lstm", {}, "HAR-2, two biases", 9, 64, 1, 19_265, "19k"),
    ("lstm", ONE, "Lorenz96", 5, 44, 5, 9_025, "9k"),
    ("lstm", {}, "Lorenz96, two biases", 5, 44, 5, 9_201, "9k"),
    ("lstm", ONE, "IMDB", 300, 128, 1, 219_777, "220k"),
    ("lstm", {}, "IMDB, two biases", 300, 128, 1, 220_289, "220k"),
    ("lem", FOUR, "sMNIST, paper's form", 1, 128, 10, 67_850, "68k"),
    ("lem", {}, "sMNIST", 1, 128, 10, 68_362, "68k"),
    ("lem", FOUR, "nCIFAR", 96, 128, 10, 116_490, "116k"),
    ("lem", {}, "nCIFAR, τ-GRU's quote", 96, 128, 10, 117_002, "117k"),
    ("lem", {}, "EigenWorms", 6, 32, 5, 5_285, "5.3k"),
    ("lem", FOUR, "BIDMC32HR, paper's form", 2, 128, 1, 67_201, "67k"),
    ("lem", {}, "BIDMC32HR", 2, 128, 1, 67_713, "67k"),
    ("lem", {}, "FitzHugh-Nagumo", 1, 16, 1, 1_233, "1k"),
    ("lem", {"multiscale": False}, "FitzHugh-Nagumo, one scale", 1, 16, 1, 625, "1k"),
    ("lem", {}, "ENSO", 1, 16, 1, 1_233, "1.233k"),
    ("lem", {}, "HAR-2", 9, 64, 1, 19_265, "19k"),
    ("lem", {}, "IMDB", 300, 128, 1, 220_289, "220k"),
    ("tau_gru", {}, "sMNIST", 1, 128, 10, 68_362, "68k"),
    ("tau_gru", {}, "sCIFAR", 3, 128, 10, 69_386, "69k"),
    ("tau_gru", {}, "nCIFAR", 96, 128, 10, 117_002, "117k"),
    ("tau_gru", {}, "ENSO", 1, 16, 1, 1_233, "1.233k"),
    ("tau_gru", {"form": "alpha=0"}, "ENSO", 1, 16, 1, 625, "0.625k"),
    ("tau_gru", {"form": "beta=0"}, "ENSO", 1, 16, 1, 929, "0.929k"),
    ("tau_gru", {"form": "no gating"}, "ENSO", 1, 16, 1, 929, "0.929k"),
    ("tau_gru", {}, "HAR-2", 9, 64, 1, 19_265, "19k"),
    ("tau_gru", {}, "IMDB", 300, 128, 1, 220_289, "220k"),
    ("simple_delay_gru", {}, "ENSO", 1, 16, 1, 897, "0.897k"),
    ("simple_delay_gru", {}, "sMNIST", 1, 128, 10, 51_338, "51k"),
    ("simple_delay_gru", {}, "sCIFAR", 3, 128, 10, 51_850, "52k"),
    ("simple_delay_gru", {}, "nCIFAR", 96, 128, 10, 75_658, "75k"),
    ("exprnn", {}, "sMNIST", 1, 360, 10, 68_950, "69k"),
    ("exprnn", {}, "sMNIST, cut off", 1, 360, 10, 68_950, "68k"),
    ("exprnn", {}, "nCIFAR", 96, 360, 10, 103_150, "103k"),
    ("exprnn", {}, "psMNIST, DTRIV", 1, 512, 10, 136_970, "137k"),
    ("exprnn", {}, "EigenWorms", 6, 64, 5, 2_789, "2.8k"),
    ("exprnn", {}, "BIDMC32HR", 2, 256, 1, 33_665, "34k"),
    ("exprnn", {}, "FitzHugh-Nagumo", 1, 50, 1, 1_376, "1k"),
    ("fastgrnn", {}, "sMNIST", 1, 128, 10, 18_060, "18k"),
    ("fastgrnn", {}, "FitzHugh-Nagumo", 1, 34, 1, 1_295, "1k"),
    ("fastgrnn", {}, "HAR-2", 9, 80, 1, 7_363, "7k"),
    ("fastrnn", {}, "HAR-2", 9, 80, 1, 7_283, "7k"),
    ("unicornn", {"layers": 3}, "nCIFAR", 96, 128, 10, 47_498, "47k"),
    ("unicornn", {"layers": 2}, "EigenWorms", 6, 32, 5, 1_573, "1.5k"),
    ("unicornn", {"layers": 3}, "BIDMC32HR", 2, 128, 1, 34_305, "34k"),
    ("unicornn", {"layers": 2}, "Lorenz96", 5, 90, 5, 9_545, "9k"),
    ("unicornn", {"layers": 2}, "IMDB", 100, 128, 1, 30_081, "30k"),
    ("indrnn", {"layers": 3}, "BIDMC32HR", 2, 128, 1, 33_921, "34k"),
]
"""Model, options, task, p, d, q, the exact count, and the count as printed: read-out included, embeddings not."""


def row_id(row: tuple[Any, ...]) -> str:
    return "-".join(map(str, [row[0], *row[1].values(), row[2], row[4]]))


@pytest.mark.parametrize("name, options, task, p, d, q, exact, printed", PUBLISHED, ids=map(row_id, PUBLISHED))
def test_a_built_network_has_as_many_parameters_as_published(
    name: str, options: Options, task: str, p: int, d: int, q: int, exact: int, printed: str
) -> None:
    actual = network_count(name, options, p, d, q)
    assert actual == exact
    assert agrees(actual, printed), task
    assert get_model(name).count(p, d, q, **options) == exact


@pytest.mark.parametrize(
    "name, options, p, d, exact, printed",
    [
        ("tanh_rnn", ONE, 80, 128, 26_752, "27k"),
        ("gru", ONE, 80, 128, 80_256, "80k"),
        ("lstm", ONE, 80, 128, 107_008, "107k"),
        ("lem", FOUR, 80, 128, 107_008, "107k"),
        ("fastgrnn", {}, 80, 128, 26_882, "27k"),
        ("cornn", {}, 200, 1024, 2_302_976, "2.3M"),
        ("lem", FOUR, 200, 1024, 5_017_600, "5M"),
    ],
)
def test_the_counts_of_google12_and_of_ptbs_characters_leave_the_read_out_aside(
    name: str, options: Options, p: int, d: int, exact: int, printed: str
) -> None:
    assert cell_count(name, options, p, d) == exact
    assert agrees(exact, printed)
    assert get_model(name).count(p, d, 0, **options) == exact


def test_lems_count_for_ptbs_words_is_that_of_its_matrices() -> None:
    built = layer("lem", {}, 256, 256)
    matrices = sum(w.numel() for name, w in built.named_parameters() if name[0] in "VW")
    assert matrices == 524_288
    assert agrees(matrices, "524k")


MISFITS: list[tuple[str, Options, str, int, int, int, int, str, str]] = [
    ("cornn", {}, "BIDMC32HR", 2, 128, 1, 33_281, "34k", "quoted by LEM; neither rounded nor cut off"),
    ("lipschitz_rnn", {}, "Google12", 80, 128, 12, 44_684, "34k", "τ-GRU, Table 6; 34k is its sMNIST count"),
    ("antisymmetric_rnn", {}, "nCIFAR", 96, 256, 10, 60_042, "36k", "quoted; the count of 3 inputs, not of 96"),
    ("gated_antisymmetric_rnn", {}, "nCIFAR", 96, 256, 10, 84_874, "37k", "quoted; the count of 3 inputs, not of 96"),
    ("lstm", ONE, "sMNIST", 1, 256, 10, 266_762, "270k", "rounded to tens of thousands"),
    ("lstm", {}, "nCIFAR", 96, 128, 10, 117_002, "116k", "one bias a gate was counted, 116,490"),
    ("gru", {}, "IMDB", 300, 128, 1, 165_249, "164k", "one bias a gate was counted, 164,865"),
    ("lstm", ONE, "nCIFAR", 96, 128, 10, 116_490, "64k", "quoted from Kag et al. 2020; no formula fits"),
    ("lstm", ONE, "HAR-2", 9, 64, 1, 19_009, "16k", "quoted from Kag et al. 2020; no formula fits"),
    ("lem", FOUR, "EigenWorms", 6, 32, 5, 5_157, "5.3k", "the code's eight biases were counted, 5,285"),
    ("lem", {}, "nCIFAR", 96, 128, 10, 117_002, "116k", "the paper's four biases were counted, 116,490"),
    ("lem", {}, "Google12", 80, 128, 12, 109_068, "107k", "the cell with four biases was counted, 107,008"),
    ("tau_gru", {}, "Google12", 80, 128, 12, 109_068, "107k", "a cell with four biases was counted, 107,008"),
    ("tau_gru", {}, "HAR-2", 9, 128, 1, 71_297, "19k", "Tables 9 and 10 print 128 units; 19k is the count of 64"),
    ("tau_gru", {}, "IMDB", 100, 128, 1, 117_889, "220k", "the count of 300 inputs, not of 100"),
    ("exprnn", {}, "Google12", 80, 128, 12, 20_044, "19k", "the cell alone has 18,496, which fits no better"),
    ("exprnn", {}, "nCIFAR", 96, 128, 10, 21_834, "47k", "τ-GRU, Table 3; no formula fits"),
    ("fastrnn", {}, "nCIFAR", 96, 128, 10, 30_092, "16k", "quoted from Kag et al. 2020; no formula fits"),
    ("indrnn", {"layers": 2}, "EigenWorms", 6, 32, 5, 1_509, "1.6k", "quoted; with batch normalisation perhaps"),
]
"""As above, and why the printed count is not the exact one."""


@pytest.mark.parametrize("name, options, task, p, d, q, exact, printed, why", MISFITS, ids=map(row_id, MISFITS))
def test_the_counts_known_not_to_fit_do_not_fit(
    name: str, options: Options, task: str, p: int, d: int, q: int, exact: int, printed: str, why: str
) -> None:
    actual = network_count(name, options, p, d, q)
    assert actual == exact
    assert not agrees(actual, printed), (task, why)


@pytest.mark.parametrize("exact, printed", [(1_573, "1.5k"), (1_573, "1.6k"), (561, "0.561k"), (5_017_600, "5M")])
def test_a_printed_count_may_be_rounded_or_cut_off(exact: int, printed: str) -> None:
    assert agrees(exact, printed)


@pytest.mark.parametrize("exact, printed", [(1_573, "1.4k"), (1_573, "1.7k"), (562, "0.561k"), (34_500, "36k")])
def test_a_printed_count_is_held_to_its_digits(exact: int, printed: str) -> None:
    assert not agrees(exact, printed)


def stacked(vectors: int) -> Callable[..., int]:
    """L layers of a matrix and some vectors each."""

    def formula(p: int, d: int, o: Options) -> int:
        layers = int(o["layers"])
        trained = vectors - (o.get("multiscale") is False)
        extra = 0
        if "skip" in o:
            extra = (layers - int(o["skip"]) - 1) * d**2 + d * p
        return d * p + (layers - 1) * d**2 + layers * trained * d + extra

    return formula


def evenly(formula: Callable[[int, int, int, Any], int]) -> Callable[[int, int, Any], int | None]:
    """A formula of p, d, heads and options that holds where heads divide d."""
    return lambda p, d, o: None if d % o["heads"] else formula(p, d, o["heads"], o)


FORMULAS: dict[str, Callable[[int, int, Any], int | None]] = {
    "cornn": lambda p, d, o: 2 * d**2 + d * p + d + (3 if o["trainable"] else 0),
    "lipschitz_rnn": lambda p, d, o: 2 * d**2 + d * p + d,
    "neural_ode_rnn": lambda p, d, o: d**2 + d * p + d,
    "neural_oscillator": lambda p, d, o: d**2 + d * p + d,
    "antisymmetric_rnn": lambda p, d, o: d * (d - 1) // 2 + d * p + d,
    "gated_antisymmetric_rnn": lambda p, d, o: d * (d - 1) // 2 + 2 * (d * p + d),
    "exprnn": lambda p, d, o: d * (d - 1) // 2 + d * p + d,
    "tanh_rnn": lambda p, d, o: d**2 + d * p + o["biases"] * d,
    "gru": lambda p, d, o: 3 * (d**2 + d * p + o["biases"] * d),
    **dict.fromkeys(("lstm", "chrono_lstm", "dt_lstm"), lambda p, d, o: 4 * d**2 + 4 * d * p + 4 * o["biases"] * d),
    "lem": lambda p, d, o: (4 * d**2 + 4 * d * p + o["biases"] * d) // (1 if o["multiscale"] else 2),
    "tau_gru": lambda p, d, o: (
        {"alpha=0": 2, "beta=0": 3, "no gating": 3, "no weighting": 3}.get(o["form"], 4) * (d**2 + d * p + 2 * d)
    ),
    "simple_delay_gru": lambda p, d, o: 3 * d**2 + 2 * d * p + 5 * d,
    "fastrnn": lambda p, d, o: d**2 + d * p + d + 2,
    "fastgrnn": lambda p, d, o: d**2 + d * p + 2 * d + 2,
    "incremental_rnn": lambda p, d, o: d**2 + d * p + d + o["euler_steps"],
    "unicornn": stacked(3),
    "residual_unicornn": stacked(3),
    "indrnn": stacked(2),
    "multilayer_oscillator": stacked(2),
    "mingru": lambda p, d, o: 2 * (d * p + d),
    "minlstm": lambda p, d, o: 3 * (d * p + d),
    "rg_lru": lambda p, d, o: 3 * d * p + 4 * d,
    "bmru": lambda p, d, o: 2 * d * p + 3 * d,
    "slstm": lambda p, d, o: (
        4 * (d * p + sum((d // o["heads"] + (k < d % o["heads"])) ** 2 for k in range(o["heads"])) + d)
    ),
    "paragru": lambda p, d, o: 3 * d * p + 6 * d,
    "paralstm": lambda p, d, o: 3 * d * p + 8 * d,
    "deltanet": evenly(lambda p, d, h, o: 3 * d * p + h * p + d // h),
    "gated_deltanet": evenly(lambda p, d, h, o: 2 * p * (h * -(-(d // h) // 2) + d + h) + 2 * h + d // h),
    "deltaproduct": evenly(lambda p, d, h, o: d * p + o["products"] * (2 * d * p + h * p) + d // h),
    "gated_deltaproduct": evenly(lambda p, d, h, o: d * p + o["products"] * (2 * d + h) * p + d // h + h * (p + 2)),
    "mamba2": evenly(lambda p, d, h, o: p * (2 * d + 2 * o["states"] + h) + 3 * h + d),
    "mlstm": evenly(lambda p, d, h, o: 4 * d * p + 2 * h * p + d + 2 * h),
    "s4d": lambda p, d, o: d * p + 3 * d + 2 * d * o["states"],
    "mamba": lambda p, d, o: 2 * d * p + 2 * d * -(-p // 16) + 3 * d * o["states"] + 2 * d,
    "horn": lambda p, d, o: d**2 + d * p + 2 * d,
    "al_rnn": lambda p, d, o: d**2 + d * p + 2 * d,
    "lrcssm": lambda p, d, o: 2 * d * p + 2 * p + (9 if o["elastance"] == "symmetric" else 8) * d,
}
"""Trainable parameters of the layer without the read-out, as given in papers and thesis; not of every model, and
None where heads do not divide d."""
CASES = [
    pytest.param(name, options, id="-".join([name, *map(str, options.values())]))
    for name, spec in sequence_models().items()
    for options in every_choice(spec)
]


@pytest.mark.parametrize("name, options", CASES)
@settings(max_examples=6)
@given(p=st.integers(1, 9), d=st.integers(1, 9), q=st.integers(1, 9), members=st.integers(1, 3))
def test_counts_follow_the_papers_formulas_and_are_those_of_one_member(
    name: str, options: Options, p: int, d: int, q: int, members: int
) -> None:
    counted = network_count(name, options, p, d, q, members)
    assert get_model(name).count(p, d, q, **options) == counted
    if name in FORMULAS and (formula := FORMULAS[name](p, d, options)) is not None:
        assert formula + (d + 1) * q == counted


@pytest.mark.parametrize("name", sorted(all_models()))
def test_a_count_without_options_is_that_of_the_defaults(name: str) -> None:
    spec = get_model(name)
    assert spec.count(3, 5, 2) == spec.count(3, 5, 2, **spec.defaults)


def test_the_names_that_models_are_printed_under_stand_in_the_published_tables() -> None:
    tables = {(row["model"], row["model_variant"]) for row in published_rows()}
    for spec in all_models().values():
        assert {(spec.name, name) for name in spec.printed} <= tables
        assert spec.called(spec.defaults)[0] == ""
    assert all_models()["lipschitz_rnn"].called({"scheme": "rk2"}) == ["rk2"]
    assert all_models()["tau_gru"].called({"form": "no weighting"}) == []


def test_a_form_is_called_the_same_with_any_number_of_layers() -> None:
    unicornn = all_models()["unicornn"]
    assert unicornn.called({"layers": 2}) == unicornn.called({}) == [""]
    assert unicornn.called({"layers": 2, "multiscale": False}) == []
