"""What is said of a row's seeds, one line each."""

from __future__ import annotations

from dataclasses import replace

from boards import printed, retrained, trials

from longwave.platform.boards.board import rows
from longwave.platform.boards.detail import of_row, of_trial
from longwave.platform.boards.printed import quote_number, write_verdict
from longwave.platform.render.rows import cell_text


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


def test_commands_of_a_row_and_of_a_trial_name_its_store() -> None:
    group = retrained("lem", [1.25, 1.5])
    [row], retrainings, option = rows([group], []), trials(group), " --store sqlite:////tmp/a.db"
    for facts in of_row(retrainings, row, (), option), of_trial(retrainings[0], ["s"], ["ok"], option):
        commands = [fact.value for fact in facts if fact.section == "commands"]
        assert len(commands) > 1 and all(command.endswith(option) for command in commands)


def test_a_row_says_what_was_printed_and_the_verdict() -> None:
    group = retrained("lem", [1.25, 1.5, 1.3, 1.4, 1.35])
    row = next(row for row in rows([group], [printed("lem", 1.3)]) if row.kind == "retrained")
    [fact] = [fact for fact in of_row(trials(group), row) if fact.section == "published"]
    [number] = row.published
    assert fact.what == "number 1" and fact.value == f"{quote_number(number)}: {write_verdict(number)}"


def test_a_trial_of_successive_halving_has_its_settings_one_by_one() -> None:
    [trial] = trials(retrained("lem", [1.0]))
    halving = {"eta": 2, "first": 7, "cohort": "c", "gate": 0.5}
    facts = of_trial(replace(trial, config=replace(trial.config, halving=halving)), ["s"], ["ok"])
    texts = {fact.what: cell_text(fact.value) for fact in facts}
    assert [texts[f"halving: {name}"] for name in halving] == ["2", "7", "c", "0.5"]
    pruned = {"pruner": {"class": "MedianPruner"}, "first": 1, "every": 1, "cohort": "c"}
    facts = of_trial(replace(trial, config=replace(trial.config, halving=pruned)), ["s"], ["ok"])
    assert '{"class": "MedianPruner"}' in [cell_text(fact.value) for fact in facts]
