"""What is said of a row's seeds, one line each."""

from __future__ import annotations

from boards import retrained, trials

from longwave.platform.boards.board import rows
from longwave.platform.boards.detail import of_row


def test_each_seed_is_its_score_or_why_it_has_none_and_what_it_took() -> None:
    group = retrained("lem", [1.25, "diverged", "planned"])
    [row], retrainings = rows([group], []), trials(group)
    output = {fact.what: fact.value for fact in of_row(retrainings[::-1], row) if fact.section == "seeds"}
    assert list(output) == ["seed 0", "seed 1", "seed 2"]
    run = retrainings[0].run
    assert run and run.valid is not None
    best, took = f"validation {run.valid:.6g} at epoch 2", f"3 epochs, {run.seconds:.3g} s"
    assert output["seed 0"] == f"1.25, {best}, {took}, trial {retrainings[0].config.id}"
    assert output["seed 1"].startswith("diverged: it did, ")
    assert output["seed 2"] == f"planned, trial {retrainings[2].config.id}"
