"""An edition as others' programs read it: by jsonschema, by mlcroissant, by PyYAML and by PyArrow."""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest
import yaml
from boards import keep, retrained

from longwave.platform.boards.numbers import column_power
from longwave.platform.cli.main import main
from longwave.platform.editions.data import board_schema, licence_url
from longwave.platform.editions.edition import SCHEMA
from longwave.platform.editions.folder import find_results
from longwave.platform.editions.publish import publish, read
from longwave.platform.editions.shipped import file_of, read_shipped, rows_of
from longwave.platform.errors import ConfigError
from longwave.platform.storage.store import Store

FROZEN = {4: "e2fa3dbf4e77fb61"}
"""Of each version's JSON Schema, without what it says in sentences, the first digits of its SHA-256."""
SCORES: dict[str, list[float | str]] = {"lem": [0.003, 0.005, 0.007], "lstm": [0.01, 0.02, "diverged"]}


@pytest.fixture
def published(store: Store, tmp_path: Path) -> Path:
    """An edition of two models on two boards, for a dataset on a hub."""
    store.add_sweep("demo", {})
    keep(store, *(retrained(m, s, task=task) for m, s in SCORES.items() for task in ("adding", "enso")))
    keep(store, retrained("lem", [0.03, 0.05, 0.07], task="enso", params={"lr": 0.5}), retrained("gru", ["failed"]))
    lucky = [retrained("lstm", [0.001, 0.002, 0.003], task="enso", params={"lr": 0.5}, valid=9.0)]
    keep(store, *lucky, retrained("lem", [0.0001], task="adding", params={"lr": 0.5}, valid=0.1))
    publish(tmp_path / "one", store, "Ours: “A”", "c0ffee", licence="CC-BY-4.0", hub="ada/boards")
    return tmp_path / "one"


def shapes(schema: Any) -> Any:
    """Return a JSON Schema without what it says in sentences."""
    if isinstance(schema, dict):
        return {key: shapes(value) for key, value in schema.items() if key != "description" or not is_text(value)}
    return [shapes(value) for value in schema] if isinstance(schema, list) else schema


def is_text(value: object) -> bool:
    return isinstance(value, str)


@pytest.mark.integration
def test_the_edition_that_ships_is_what_its_json_schema_says(published: Path) -> None:
    schema = json.loads((published / "board.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    shipped = json.loads(lzma.decompress(file_of(2).read_bytes()))
    check.validate(shipped)
    check.validate(json.loads((published / "board.json").read_text()))
    for change in ({"median": "0.5"}, {"n": 1.5}, {"colour": "red"}, {"scores": None}, {"seeds": [{"seed": 1}]}):
        [error] = list(check.iter_errors({**shipped, "rows": [{**shipped["rows"][0], **change}]}))[:1]
        assert list(error.absolute_path)[:2] == ["rows", 0]
    del shipped["rows"][0]["ties"]
    with pytest.raises(jsonschema.ValidationError, match="'ties' is a required property"):
        check.validate(shipped)


def test_a_number_that_was_not_trained_here_has_no_median_in_the_edition_that_ships_either() -> None:
    shipped = rows_of(read_shipped()[1])
    others = [row for row in shipped if row.kind != "retrained"]
    assert others and all(row.median is None for row in others)
    assert column_power([row for row in shipped if (row.task, row.variant) == ("enso", "h=1")]) == -6


def test_a_json_schema_never_changes_under_its_version() -> None:
    text = json.dumps(shapes(board_schema()), sort_keys=True)
    found = hashlib.sha256(text.encode()).hexdigest()[:16]
    assert FROZEN[SCHEMA] == found, f"Programs of others read it: raise SCHEMA, and note {found} for the new version."


@pytest.mark.integration  # imports mlcroissant, with pandas and rdflib
@pytest.mark.filterwarnings("ignore")  # of rdflib and of regular expressions in jsonpath_rw
def test_croissant_leads_programs_to_the_tables_and_to_what_is_in_them(published: Path) -> None:
    import mlcroissant

    dataset = mlcroissant.Dataset(jsonld=str(published / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors and not dataset.metadata.ctx.issues.warnings
    assert dataset.metadata.license == ["https://spdx.org/licenses/CC-BY-4.0.html"]
    for name in ("rows", "trials"):
        table = pq.read_table(published / f"{name}.parquet")
        records = list(dataset.records(name))
        assert [column.removeprefix(f"{name}/") for column in records[0]] == table.column_names
        assert len(records) == table.num_rows
    tests = [record["trials/test"] for record in dataset.records("trials")]
    assert sorted(t for t in tests if t is not None) == sorted(v for v in table["test"].to_pylist() if v is not None)


@pytest.mark.parametrize(
    "licence",
    ["CC-BY", "MYOWN-1.0", "my own", "LicenseRef-mine", "MIT OR Apache-2.0", "Apache-2.0+", "../MIT", "MIT\n"],
)
def test_a_licence_without_a_page_of_its_own_at_spdx_is_refused(licence: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"such as CC-BY-4.0, got {licence!r}.")):
        licence_url(licence)


def test_a_licence_is_written_as_spdx_spells_it() -> None:
    assert licence_url("cc-by-4.0") == "https://spdx.org/licenses/CC-BY-4.0.html"


@pytest.mark.integration
def test_types_in_croissant_are_those_in_parquet(published: Path) -> None:
    said = json.loads((published / "croissant.json").read_text())
    names = {"string": "sc:Text", "large_string": "sc:Text", "int64": "sc:Integer", "double": "sc:Float"}
    for records in said["recordSet"]:
        table = pq.read_schema(published / f"{records['name']}.parquet")
        fields = {field["name"]: field["dataType"] for field in records["field"]}
        assert fields == {name: {**names, "bool": "sc:Boolean"}[str(table.field(name).type)] for name in table.names}
    for file in said["distribution"]:
        assert file["sha256"] == hashlib.sha256((published / file["contentUrl"]).read_bytes()).hexdigest()


@pytest.mark.integration
def test_a_model_has_the_median_of_its_best_row_of_each_board_for_a_hub(published: Path) -> None:
    assert {file.name for file in (published / "eval_results").iterdir()} == {"lem.yaml", "lstm.yaml"}, "gru has none"
    scores = yaml.safe_load((published / "eval_results/lem.yaml").read_text())
    assert [(score["dataset"], score["value"]) for score in scores] == [
        ({"id": "ada/boards", "task_id": task}, 0.005) for task in ("adding", "enso")
    ]
    [key] = {
        row["key"]
        for row in read(published).rows
        if row["model"] == "lem" and row["task"] == "adding" and row["n"] == 3
    }
    assert scores[0]["notes"] == f"LEM: mse [1], min, median of 3 seeds, row {key}"
    assert scores[0]["source"]["url"] == "https://huggingface.co/datasets/ada/boards"
    assert scores[0]["source"]["name"].startswith("Ours: “A”, ")
    [score, _] = yaml.safe_load((published / "eval_results/lstm.yaml").read_text())
    assert score["value"] == 0.02, "a diverged seed is the worst"


@pytest.mark.integration
def test_without_a_dataset_there_are_no_scores_and_without_a_licence_none_is_said(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store.add_sweep("demo", {})
    keep(store, retrained("lem", SCORES["lem"]))
    assert main(["publish", str(tmp_path / "one"), "--store", store.url]) == 0
    assert not (tmp_path / "one/eval_results").exists() and find_results(tmp_path / "one") == []
    assert "license" not in json.loads((tmp_path / "one/croissant.json").read_text())
    for option, value, message in (
        ("--title", "", "--title needs a letter or a digit, got ''. One is: --title 'Boards of 2026'"),
        ("--title", "_!", "--title needs a letter or a digit, got '_!'."),
        ("--hub", "boards", "A dataset on the Hugging Face Hub is USER/NAME, got 'boards'. One is: --hub ada/boards"),
        ("--licence", "MYOWN-1.0", "--licence takes one licence of https://spdx.org/licenses, such as CC-BY-4.0, got"),
    ):
        capsys.readouterr()
        assert main(["publish", str(tmp_path / "two"), option, value, "--store", store.url]) == 2
        assert message in " ".join(capsys.readouterr().err.split()) and not (tmp_path / "two").exists()
