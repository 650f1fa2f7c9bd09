"""``longwave submit`` and ``longwave import`` between real stores, and how far a row counts as verified after that."""

from __future__ import annotations

import io
import json
import re
import sqlite3
import unicodedata
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
import sqlalchemy as sa
from bundles import Content, drop, forge, of
from forgeries import other_data, other_draws
from hostile import MARKUP, TEXTS
from rich.console import Console

from longwave.platform.boards.methods import methods
from longwave.platform.boards.row import Row
from longwave.platform.boards.verification import describe_verification
from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError, StoreError
from longwave.platform.exchange import intake, remade
from longwave.platform.exchange.audit import audit
from longwave.platform.exchange.bundle import Bundle, File, read, seal, write
from longwave.platform.exchange.collect import collect
from longwave.platform.exchange.finding import AuditFinding, find_conflicts
from longwave.platform.exchange.inspection import check_secrets
from longwave.platform.exchange.remade import check_possible_values
from longwave.platform.records.group import Pool
from longwave.platform.records.identity import digest
from longwave.platform.records.run import Run
from longwave.platform.redaction import redacted
from longwave.platform.registry import get_task
from longwave.platform.render.export import Format
from longwave.platform.statistics import prediction
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.schema import Base, PublishedRow
from longwave.platform.storage.store import Store
from longwave.platform.sweeps import reproduce
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import driver

SIZES = {"hidden": 8, "batch": 10, "steps": 5, "epochs": 4, "trials": 4, "retrain": 2, "variant": "N=20"}


def run_sweep(url: str, folder: Path, **changes: Any) -> None:
    settings = {"name": "tiny", "task": "adding", "models": ["lem", "gru"], **SIZES, **changes}
    content = {key: value for key, value in settings.items() if value is not None}
    with Store(url) as store:
        driver.start_sweep(
            check_sweep(content, "tiny.toml"), store, Workers(1, folder, here=True), None, Console(file=io.StringIO())
        )


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("swept")
    run_sweep(f"sqlite:///{folder}/store.db", folder)
    return f"sqlite:///{folder}/store.db"


@pytest.fixture(scope="module")
def genuine(swept: str) -> File:
    with Store(swept) as store:
        return seal(collect(store))


def counts(store: Store) -> dict[str, int]:
    """Return how many rows each table has, but for the published numbers, which every store has."""
    with store.transaction() as connection:
        tables = [t for t in Base.metadata.sorted_tables if t.name != PublishedRow.__tablename__]
        return {t.name: connection.scalar(sa.select(sa.func.count()).select_from(t)) or 0 for t in tables}


def level(store: Store, model: str) -> str:
    [row] = [row for row in read_board(store, "adding") if row.model == model and row.kind == "retrained"]
    return re.sub(r"^untrusted, of \w{12}, ", "untrusted, ", row.verification)


@pytest.mark.integration
def test_rows_go_to_another_store_and_on_to_a_third_and_stay_what_they_are(
    swept: str, tmp_path: Path, open_store: Callable[[str], Store], capsys: pytest.CaptureFixture[str]
) -> None:
    urls = [swept, f"sqlite:///{tmp_path}/b.db", f"sqlite:///{tmp_path}/c.db"]
    for k in range(2):
        assert main(["submit", str(tmp_path / f"{k}.json.xz"), "--store", urls[k]]) == 0
        assert main(["import", str(tmp_path / f"{k}.json.xz"), "--store", urls[k + 1]]) == 0
    assert (tmp_path / "0.json.xz").read_bytes() == (tmp_path / "1.json.xz").read_bytes()
    captured = capsys.readouterr()
    name = read(tmp_path / "0.json.xz").name
    assert captured.err == "" and f"Bundle {name[:12]}: 2 rows, 12 trials, in " in captured.out
    assert f"Bundle {name[:12]}: 12 trials imported, 0 already known: schema-checked." in captured.out
    boards = [[(r.model, r.mean, r.std, r.n, r.searched) for r in read_board(open_store(u), "adding")] for u in urls]
    assert boards[0] == boards[1] == boards[2]


def test_a_bundle_imports_into_every_kind_of_store_once(
    genuine: File, any_store_url: str, open_store: Callable[[str], Store]
) -> None:
    store = open_store(any_store_url)
    assert intake.import_bundle(store, genuine) == 12
    before = counts(store)
    assert (before["trials"], before["curves"], before["sweep_trials"], before["sweeps"]) == (12, 48, 12, 1)
    ends = store.ends_of([entry.config.id for entry in genuine.content.trials])
    assert len(ends) == 12 and list(find_conflicts(genuine.content.trials, ends)) == []
    assert intake.import_bundle(store, genuine) == 0
    assert counts(store) == before and seal(collect(store)) == genuine
    assert level(store, "gru") == level(store, "lem") == "untrusted, schema-checked"


def test_a_rejected_bundle_changes_nothing_and_says_why(
    genuine: File, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def edited(changed: Content) -> None:
        of(changed)[0]["run"]["valid"] *= 0.5

    write(forge(genuine, edited), tmp_path / "forged")
    assert main(["import", str(tmp_path / "forged"), "--store", store.url]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("reject: scores: trial ")
    assert captured.err.endswith("is rejected; nothing was imported.\n")
    assert not any(counts(store).values())


def test_an_unknown_model_is_told_once_for_all_its_trials(
    genuine: File, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def rename_model(changed: Content) -> None:
        for trial in changed["trials"]:
            if trial["config"]["model"] == "lem":
                trial["config"]["model"] = "lemming"

    write(forge(genuine, rename_model), tmp_path / "forged")
    assert main(["import", str(tmp_path / "forged"), "--dry-run"]) == 2
    [line] = [line for line in capsys.readouterr().err.splitlines() if "No model" in line]
    assert re.match(r"reject: names: trial \w+ and 5 more: No model 'lemming'\.", line)


def test_a_bundle_that_holds_a_password_is_refused_and_its_place_is_named(
    genuine: File, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def in_reason(changed: Content) -> None:
        run = of(changed)[0]["run"]
        run |= {"status": "failed", "reason": "OSError: cannot reach https://bob:hunter2@host/x", "test": None}

    def in_facts(changed: Content) -> None:
        next(iter(changed["environments"].values()))["device"] = "cpu of https://bob:hunter2@host"

    def in_settings(changed: Content) -> None:
        changed["sweeps"][0]["content"]["password"] = "hunter2"

    def in_explanation(changed: Content) -> None:
        of(changed)[0]["about"]["recipe"] = "https://bob:hunter2@host"

    messages = {
        in_reason: r"trial \w{16} holds a password in run\.reason\.",
        in_facts: r"environment \w{16}.* in device\.",
    }
    messages |= {in_settings: r"sweep \w{16}.* in password\.", in_explanation: r"trial \w{16}.* in about\.recipe\."}
    for change, message in messages.items():
        forged = forge(genuine, change)
        write(forged, tmp_path / "forged")
        for options in ([], ["--dry-run"]):
            assert main(["import", str(tmp_path / "forged"), "--store", store.url, *options]) == 2
            captured = capsys.readouterr()
            assert re.match(f"reject: secrets: {message}", captured.err) and "hunter2" not in captured.err
            assert captured.out == ""
    assert not any(counts(store).values())


def test_a_patch_that_holds_a_password_is_refused_by_its_name(genuine: File) -> None:
    text = '+URL = "https://bob:hunter2@host/x"\n'
    name = digest({"patch": text})
    bundle = genuine.content.model_copy(update={"patches": {name: text}})
    assert [message for _, message, *_ in check_secrets(bundle) if f"patch {name} holds a password." in message]


def test_a_flagged_bundle_is_imported_as_a_claim_and_a_dry_run_imports_nothing(
    genuine: File, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def silent(changed: Content) -> None:
        for facts in changed["environments"].values():
            facts.pop("commit", None)

    write(forge(genuine, silent), tmp_path / "flagged")
    assert main(["import", str(tmp_path / "flagged"), "--dry-run", "--store", store.url]) == 0
    assert not any(counts(store).values())
    assert main(["import", str(tmp_path / "flagged"), "--store", store.url]) == 0
    captured = capsys.readouterr()
    assert captured.err == "" and captured.out.count("flag: provenance: trial ") == 2 * 5
    assert (
        "flag: provenance: 7 more." in captured.out and "12 trials imported, 0 already known: claimed." in captured.out
    )
    assert level(store, "gru") == "untrusted, claimed"


@pytest.mark.parametrize("phase", ["retrain", "search"])
def test_a_flag_on_one_trial_marks_the_rows_of_its_cell_alone(
    phase: Literal["retrain", "search"],
    genuine: File,
    store: Store,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def instant(changed: Content) -> None:
        of(changed, phase=phase)[0]["run"]["seconds"] = 0.0

    write(forge(genuine, instant), tmp_path / "one")
    assert main(["import", str(tmp_path / "one"), "--store", store.url]) == 0
    out = capsys.readouterr().out
    assert out.count("flag: ") == 1 and "12 trials imported, 0 already known: 1 of 2 rows claimed, the others" in out
    assert (level(store, "gru"), level(store, "lem")) == ("untrusted, claimed", "untrusted, schema-checked")
    [sweep] = store.sweeps()
    flags = {t.config.model: " ".join(t.flags) for t in store.trials(sweep)}
    assert flags["lem"] == ""
    assert re.fullmatch(r"trial \w{16} took 0 s, less than the epochs of its curve\.", flags["gru"])
    [row] = {t.config.row for t in store.trials(sweep) if (t.config.model, t.config.phase) == ("gru", "retrain")}
    assert main(["show", row[:16], "--store", store.url]) == 0
    assert "took 0 s, less than the" in capsys.readouterr().out


def test_a_flag_about_no_trial_marks_all_rows(genuine: File, store: Store) -> None:
    one = genuine.content.trials[0].config.id
    intake.import_bundle(store, genuine, [AuditFinding("x", "flag", "said", [one]), AuditFinding("x", "flag", "said")])
    assert level(store, "gru") == level(store, "lem") == "untrusted, claimed"


def test_another_end_of_a_known_trial_rejects_the_bundle(
    genuine: File, swept: str, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def better(changed: Content) -> None:
        of(changed)[0]["run"]["test"] *= 0.9

    write(forge(genuine, better), tmp_path / "other")
    intake.import_bundle(store, genuine, [])
    before = counts(store)
    assert main(["import", str(tmp_path / "other"), "--store", store.url]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 2 and "reject: conflict: trial " in err and "is in the store with test 0." in err
    assert counts(store) == before


def test_an_untrusted_bundle_adds_no_trials_to_the_search_of_a_trusted_one(genuine: File, store: Store) -> None:
    def read_rows() -> list[Row]:
        return [replace(row, sweeps=()) for row in read_board(store, "adding", Pool(trust=(genuine.name,)))]

    intake.import_bundle(store, genuine)
    before = read_rows()
    assert intake.import_bundle(store, forge(genuine, other_draws)) == 3
    assert read_rows() == before and {row.searched for row in before if row.kind == "retrained"} == {4}


def test_an_untrusted_sweep_that_plans_a_trusted_retraining_takes_the_others_of_its_row_from_no_board(
    genuine: File, store: Store
) -> None:
    def add_sweep(changed: Content) -> None:
        other_draws(changed)
        kept = of(changed, "lem")[0]
        settings = changed["sweeps"][0]["content"] | {"name": "x", "trials": 0, "instead_of": ["0" * 16]}
        changed["sweeps"].append({"content": settings, "trials": [kept["run"]["trial"]]})

    def read_rows() -> list[Row]:
        return [replace(row, sweeps=()) for row in read_board(store, "adding", Pool(trust=(genuine.name,)))]

    intake.import_bundle(store, genuine)
    before = read_rows()
    assert intake.import_bundle(store, forge(genuine, add_sweep)) == 3
    assert read_rows() == before and store.uncounted((genuine.name,)) == set()


def test_an_untrusted_bundle_on_other_data_supersedes_no_row(genuine: File, store: Store) -> None:
    intake.import_bundle(store, forge(genuine, other_data))
    intake.import_bundle(store, genuine)
    rows = [row for row in read_board(store, "adding", Pool(trust=(genuine.name,))) if row.kind == "retrained"]
    assert sorted((row.untrusted, row.superseded) for row in rows) == [(False, "")] * 2 + [(True, "")] * 2


def test_a_trial_that_is_still_planned_here_rejects_the_bundle(genuine: File, store: Store) -> None:
    entry = genuine.content.trials[0]
    store.add_trials(None, [entry.config], [entry.about])
    [conflict] = find_conflicts(genuine.content.trials, store.ends_of([entry.config.id]))
    assert conflict.severity == "reject" and "is in the store with no end yet" in conflict.message


def test_an_import_that_fails_half_way_leaves_nothing(genuine: File, store: Store) -> None:
    content = json.loads(genuine.content.model_dump_json())
    content["sweeps"][0]["trials"].append("0" * 16)
    with pytest.raises(StoreError, match="FOREIGN KEY constraint failed"):
        intake.import_bundle(store, seal(Bundle.model_validate_json(json.dumps(content))), [])
    assert not any(counts(store).values())


def test_what_import_would_reject_is_not_written(
    swept: str, tmp_path: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store(swept) as other:
        [first, *_] = other.retrainings("adding")
    store.add_trials(None, [first.config], [first.about])
    store.write([], [Run(first.config.id, "ok", epochs=4, best_epoch=1, valid=1.0, test=0.1)])
    assert main(["submit", str(tmp_path / "out.json.xz"), "--store", store.url]) == 2
    assert "reject: plan: row" in capsys.readouterr().err and not (tmp_path / "out.json.xz").exists()


@pytest.mark.integration
@pytest.mark.parametrize(
    "changes",
    [
        {"halving": {"eta": 2, "first": 1}, "pack": 4},
        {"halving": {"eta": 2, "first": 1, "cohort": 4}, "pack": 2, "models": ["lem"]},
        {"pruner": "MedianPruner", "pruner_arguments": {"n_startup_trials": 1}, "pack": 4, "models": ["lem"]},
        {"sampler": "tpe", "rounds": 2, "selection": "last", "warm": ["published", "rows"]},
        {"space": {"gru": {"lr": {"low": 1e-3, "high": 1e38}}}, "models": ["gru"], "trials": 8},
        {"task": "fitzhugh_nagumo", "variant": "", "models": ["lstm"], "trials": 2, "epochs": 1, "steps": None},
    ],
    ids=["halving", "cohort", "pruner", "tpe", "diverging", "fitzhugh_nagumo"],
)
def test_honest_sweeps_of_all_kinds_pass_every_check(changes: dict[str, Any], tmp_path: Path, store: Store) -> None:
    run_sweep(store.url, tmp_path, **changes)
    file = seal(collect(store))
    assert audit(file) == []
    statuses = {entry.run.status for entry in file.content.trials}
    assert statuses == {
        "ok",
        *(["stopped"] if {"halving", "pruner"} & changes.keys() else ["diverged"] if "space" in changes else []),
    }


@pytest.mark.integration
def test_an_accuracy_is_a_whole_number_of_items_on_validation_and_on_test(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    digits = {"task": "digits", "variant": "", "models": ["gru"], "trials": 1, "epochs": 1, "steps": None}
    run_sweep(store.url, tmp_path, **digits)
    file, data = seal(collect(store)), get_task("digits").load("")
    assert audit(file) == []

    def a_part_of_an_item_on_test(changed: Content) -> None:
        of(changed)[0]["run"]["test"] += 30 / len(data.test)

    def a_part_of_an_item_on_validation(changed: Content) -> None:
        entry = of(changed)[0]
        entry["run"]["valid"] = entry["points"][0]["valid"] = entry["points"][0]["valid"] + 30 / len(data.valid)

    for change, count in (
        (a_part_of_an_item_on_test, len(data.test)),
        (a_part_of_an_item_on_validation, len(data.valid)),
    ):
        [finding] = audit(forge(file, change))
        assert (finding.check, finding.severity) == ("possible_values", "reject")
        assert re.fullmatch(rf"trial \w+ has [\d.]+ %, which is \d+\.3 of {count} items\.", finding.message)
    monkeypatch.setattr(remade, "loaded", lambda task, variant: None)  # data that are not here
    assert [*check_possible_values(file.content)] == []
    assert [*check_possible_values(forge(file, a_part_of_an_item_on_validation).content)] == []
    [(severity, message)] = check_possible_values(forge(file, a_part_of_an_item_on_test).content)
    assert severity == "reject" and message.endswith(f".3 of {len(data.test)} items.")
    for floor in (0.0, 1e-320, 60.0):
        trials = [
            entry.model_copy(update={"about": replace(entry.about, floor=floor)})
            for entry in forge(file, a_part_of_an_item_on_test).content.trials
        ]
        assert [*check_possible_values(file.content.model_copy(update={"trials": trials}))] == []


def with_swapped_tests(changed: Content) -> None:
    """Swap the test scores of the two seeds of a row."""
    first, second = of(changed)
    first["run"]["test"], second["run"]["test"] = second["run"]["test"], first["run"]["test"]


def with_better_model(changed: Content) -> None:
    """Multiply every test error of a model by .7."""
    for entry in of(changed):
        entry["run"]["test"] *= 0.7


@pytest.mark.parametrize("change", [with_swapped_tests, with_better_model])
def test_what_no_check_can_find_is_told_in_methods_and_has_no_rank(
    change: Callable[[Content], None], genuine: File, store: Store
) -> None:
    """Should a check find one of them, take it out of the list in Methods."""
    forged = forge(genuine, change)
    assert audit(forged) == []
    _, _, told = methods().partition("## What no check can find")
    assert {with_swapped_tests: "swapped between seeds", with_better_model: "times .7"}[change] in told
    intake.import_bundle(store, forged)
    mine = [row for row in read_board(store, "adding") if row.kind == "retrained"]
    assert len(mine) == 2 and {(row.untrusted, row.rank_low, row.rank_high) for row in mine} == {(True, None, None)}


def test_a_diverged_retraining_that_was_left_out_is_missed(genuine: File) -> None:
    def hidden(changed: Content) -> None:
        gone = of(changed)[1]["run"]["trial"]
        changed["trials"] = [e for e in changed["trials"] if e["run"]["trial"] != gone]
        changed["sweeps"][0]["trials"].remove(gone)

    def hide_it(changed: Content) -> None:
        entry = of(changed)[1]
        entry["points"] = entry["points"][:2]
        best = min(entry["points"], key=lambda p: p["valid"])
        entry["run"] |= {"status": "diverged", "reason": "loss nan, validation nan at epoch 3", "epochs": 3}
        entry["run"] |= {"test": None, "valid": best["valid"], "best_epoch": best["epoch"]}

    assert audit(forge(genuine, hide_it)) == []
    assert "1 of 2 retrainings are missing" in str(audit(forge(genuine, hidden)))


@pytest.mark.integration
def test_re_runs_here_raise_the_level_of_an_imported_row_and_travel_as_claims(
    genuine: File, store: Store, tmp_path: Path, open_store: Callable[[str], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prediction, "LEAST_POWER", 0.0)  # rows of so few seeds would catch too little to verify any
    intake.import_bundle(store, genuine, [])
    [row] = {t.config.row for t in store.retrainings("adding") if t.config.model == "gru"}
    assert level(store, "gru") == level(store, "lem") == "untrusted, schema-checked"
    levels = []
    for _ in range(2):
        done = reproduce.train_again(reproduce.plan_rerun(store, row))
        assert done.outcome == "inside"
        reproduce.store_rerun(store, done)
        levels.append(level(store, "gru"))
    assert levels == ["re-run once, 2 imported and untrusted", "re-run 2 times, 2 imported and untrusted"]
    assert level(store, "lem") == "untrusted, schema-checked"
    again = seal(collect(store))
    assert audit(again) == []
    third = open_store(f"sqlite:///{tmp_path}/third.db")
    intake.import_bundle(third, again, [])
    assert level(third, "gru") == "untrusted, schema-checked"


def test_levels_are_words() -> None:
    assert describe_verification([], []) == describe_verification([], ["undecided"]) == "trained here"
    assert describe_verification([True, True], []) == "schema-checked"
    assert describe_verification([True, False], []) == describe_verification([False, True], []) == "claimed"
    assert describe_verification([True], ["inside", "outside"]) == "re-run 2 times, 1 outside its interval"
    assert describe_verification([False], ["inside"]) == "re-run once, claimed with flags"
    assert (
        describe_verification([True], ["outside"], ["f" * 64])
        == f"untrusted, of {'f' * 12}, re-run once, 1 outside its interval"
    )
    assert describe_verification([], [], (), 20) == "trained here, 20 imported and untrusted"


@pytest.mark.integration
def test_three_hundred_hostile_texts_of_a_bundle_act_in_no_output(
    genuine: File, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [redacted(text.replace("\0", "")) or "x" for text in TEXTS]  # a password would be refused

    def hostile(changed: Content) -> None:
        for k, entry in enumerate(changed["trials"]):
            entry["about"] |= {"departures": texts, "task": texts[k], "model": texts[-k], "recipe": texts[60 + k]}
        for facts in changed["environments"].values():
            facts |= {f"fact {text}": text for text in texts}

    url, bundle = f"sqlite:///{tmp_path}/s.db", str(tmp_path / "hostile")
    write(forge(genuine, hostile), Path(bundle))
    assert main(["import", bundle, "--store", url]) == 0
    outputs = ["".join(capsys.readouterr())]
    for format in Format:
        for line in (["board", "adding"], ["compare", "lem", "gru", "--task", "adding"], ["budget", "adding"]):
            main([*line, "--format", format.value, "--store", url])
            outputs.append("".join(capsys.readouterr()))
    assert main(["publish", str(tmp_path / "page"), "--store", url]) == 0
    outputs += [
        "".join(capsys.readouterr()),
        *(f.read_text() for end in ("html", "json", "csv", "md") for f in (tmp_path / "page").rglob(f"*.{end}")),
    ]
    for text in outputs:
        assert {sign for sign in text if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")} <= {"\n"}
    page = (tmp_path / "page/index.html").read_text()
    assert not [m for m in MARKUP if re.search(r"<(script|img|svg|iframe|style)[ >/]", m) and m in page]
    assert sum(len(text) for text in outputs) > 30_000, "the texts were shown"


def test_a_bundle_that_is_named_twice_is_imported_once(
    genuine: File, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, copy = tmp_path / "one.json.xz", tmp_path / "copy.json.xz"
    write(genuine, one)
    copy.write_bytes(one.read_bytes())
    assert main(["import", str(one), str(copy), "--store", store.url]) == 0
    assert f"Bundle {genuine.name[:12]}: 12 trials imported, 0 already known" in capsys.readouterr().out


@pytest.mark.integration
def test_a_row_chosen_here_from_imported_search_trials_says_so_until_their_bundle_is_trusted(
    genuine: File, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def improve_losers(content: Content) -> None:
        drop(content, *[e for e in content["trials"] if e["config"]["phase"] == "retrain"])
        loser = max(of(content, "gru", "search"), key=lambda e: e["run"]["valid"])
        for point in loser["points"]:
            point["valid"] = float(point["valid"] * 0.01)
        best = min(loser["points"], key=lambda point: point["valid"])
        loser["run"].update(valid=best["valid"], best_epoch=best["epoch"])

    forged, url = forge(genuine, improve_losers), f"sqlite:///{tmp_path}/store.db"
    write(forged, tmp_path / "forged.json.xz")
    assert main(["import", str(tmp_path / "forged.json.xz"), "--store", url]) == 0
    printed = capsys.readouterr().out
    assert f"untrusted. Rank them with longwave board --trust {forged.name[:12]}" in printed and "--keep" not in printed
    run_sweep(url, tmp_path)
    with Store(url) as store:
        [row] = [row for row in read_board(store, "adding") if row.model == "gru"]
        assert row.verification == f"trained here, chosen by an untrusted search of {forged.name[:12]}"
        [row] = [row for row in read_board(store, "adding", Pool(trust=(forged.name,))) if row.model == "gru"]
        assert row.verification == "trained here"


def test_a_sweep_of_another_content_keeps_its_name_and_the_bundle_is_refused(
    genuine: File, tmp_path: Path, store: Store
) -> None:
    with Store(f"sqlite:///{tmp_path}/first.db") as first:
        intake.import_bundle(first, genuine, [])
        [name] = first.sweeps()
    store.add_sweep(name, {"name": "another"})
    with pytest.raises(ConfigError, match=f"The store has another sweep {name}. Import the bundle into another store"):
        intake.import_bundle(store, genuine, [])
    assert store.count()["trials"] == 0


@pytest.mark.integration
def test_the_trial_that_describes_a_row_is_the_one_whose_plan_is_checked(genuine: File, tmp_path: Path) -> None:
    url, file = f"sqlite:///{tmp_path}/store.db", tmp_path / "store.db"
    first = min(e.config.id for e in genuine.content.trials if e.config.phase == "retrain" and e.config.model == "gru")
    one_retraining = forge(genuine, lambda c: drop(c, *[e for e in c["trials"] if e["run"]["trial"] != first]))
    with Store(url) as store:
        intake.import_bundle(store, one_retraining, [])
    run_sweep(url, tmp_path)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "UPDATE trials SET about = replace(about, 'GRU', 'LEM') WHERE origin IS NULL AND phase = 'retrain'"
        )
    with Store(url) as store, pytest.raises(StoreError, match="is damaged: its plan or record does not match"):
        read_board(store, "adding")
