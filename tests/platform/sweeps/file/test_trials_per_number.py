"""``trials = "8 per number"``: a model with more searched numbers has more draws, from 16 to 64."""

from __future__ import annotations

import pytest
from small_sweeps import small, to_the_end

from longwave.platform.errors import ConfigError
from longwave.platform.records.search import searched_by
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import stored_settings
from longwave.platform.sweeps.plan.trials import all_trials
from longwave.platform.sweeps.run.status import count_trials


@pytest.mark.parametrize(("each", "counts"), [(8, [16, 32]), (5, [16, 20]), (1, [16, 16]), (40, [40, 64])])
def test_a_cell_has_so_many_trials_for_each_number_that_it_draws(each: int, counts: list[int]) -> None:
    file = small(models=["gru", "cornn"], trials=f"{each} per number")
    sweep = resolve(file)
    assert [len(cell.space) for cell in sweep.cells] == [1, 4]
    trials = [c.model for c in all_trials(sweep, {})]
    assert [trials.count("gru"), trials.count("cornn")] == counts
    assert count_trials(sweep) == sum(counts) + 2 * 2 == len(to_the_end(sweep))


def test_the_words_are_kept_as_they_stand_and_mean_the_same_when_read_again() -> None:
    file = small(trials="8 per number", rule=2)
    content = stored_settings(file)
    assert content["trials"] == "8 per number"
    again = check_sweep(content, "again")
    assert again == file and again.trials_text == "16 to 64 (8 per searched number)"
    assert (file.searched, file.least_searched, small(trials=9).least_searched) == (64, 16, 9)
    assert searched_by(content) == "random search, a race of 4 finalists with fresh seeds"


@pytest.mark.parametrize(
    "words", ["8", "0 per number", "100 per number", "8 per numbers", "eight per number", 8.5, True]
)
def test_other_words_are_refused_in_a_line(words: object) -> None:
    with pytest.raises(ConfigError, match="tiny.toml: trials: "):
        small(trials=words)
