"""What a board says first of its rows and its best trivial predictor."""

from __future__ import annotations

from boards import retrained
from hypothesis import given
from hypothesis import strategies as st

from longwave.platform.boards.answer import against_trivial
from longwave.platform.boards.board import rows

TRIVIAL = {"mean": 0.5, "last value": 0.4}
SEEDS = st.lists(st.floats(0.1, 0.9).map(lambda x: round(x, 3)), min_size=5, max_size=5)


@given(SEEDS)
def test_a_row_is_better_than_the_trivial_predictor_if_all_of_five_seeds_are(tests: list[float]) -> None:
    output = against_trivial(rows([retrained("lem", tests, trivial=TRIVIAL)], []))
    assert output.startswith("Better than the best trivial predictor, last value at 0.4, with their whole interval: ")
    assert output.endswith("; it is better than LEM.") == (sorted(tests)[2] > 0.4)
    assert (": LEM" in output) == (max(tests) < 0.4)


def test_few_seeds_and_diverged_ones_claim_nothing_and_where_larger_is_better_it_is_the_other_end() -> None:
    ends = {"lem": [0.1, 0.1, 0.1], "gru": [*[0.1] * 5, "diverged"]}
    groups = [retrained(model, tests, trivial=TRIVIAL) for model, tests in ends.items()]
    assert "interval: none" in against_trivial(rows(groups, []))
    about = {"trivial": {"majority": 50.0}, "goal": "max", "metric": "accuracy", "unit": "%"}
    ends = {"lem": [51.0, 52.0, 53.0, 54.0, 55.0], "gru": [49.0, 52.0, 53.0, 54.0, 55.0]}
    high = rows([retrained(model, tests, **about) for model, tests in ends.items()], [])
    assert against_trivial(high).endswith("interval: LEM.")


def test_a_board_without_trivial_predictors_says_nothing_of_them() -> None:
    assert against_trivial(rows([retrained("lem", [0.1] * 5)], [])) == ""
