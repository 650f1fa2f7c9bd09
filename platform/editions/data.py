"""What programs of others read of an edition: JSON Schema, Croissant, and scores for model cards. Pure functions.

Croissant 1.0 is JSON-LD that says which tables a dataset has and what stands in their columns (Akhtar et al. 2024,
arXiv 2403.19546). Scores are YAML files for ``.eval_results/`` of a model's repository on the Hugging Face Hub.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from longwave.platform.boards.columns import Column, of
from longwave.platform.editions.edition import SCHEMA, Edition
from longwave.platform.editions.folder import SCORES
from longwave.platform.editions.tables import OF_TRIAL
from longwave.platform.errors import ConfigError
from longwave.platform.render.export import as_json

TEXTS = {"type": "array", "items": {"type": "string"}}
NUMBER = {"type": ["number", "null"]}
OBJECTS = {"type": "array", "items": {"type": "object"}}
TYPES: Mapping[str, Mapping[str, Any]] = {
    "text": {"type": "string"},
    "texts": TEXTS,
    "whole": {"type": ["integer", "null"]},
    "number": NUMBER,
    "flag": {"type": "boolean"},
}
"""In JSON Schema, by the kind of a column."""
NESTED: Mapping[str, Mapping[str, Any]] = {
    "published": OBJECTS,
    "params": {"type": "object", "additionalProperties": {"type": "number"}},
    "options": {"type": "object", "additionalProperties": {"type": ["string", "integer", "boolean"]}},
    "settings": {"type": "object"},
    "scores": {"type": "array", "items": {"type": "number"}},
    "at_edge": {"type": ["array", "null"], "items": {"type": "string"}},
    "trials": TEXTS,
    "untrusted_runs": TEXTS,
    "environments": OBJECTS,
}
"""Of the columns that hold something nested, by key."""
OF_ROW = ("row", "task", "variant", "model")
"""What ``trials.parquet`` says of a retraining that in ``board.json`` is said of its row."""
OF_CROISSANT = {"whole": "sc:Integer", "number": "sc:Float", "flag": "sc:Boolean"}
"""Type in Croissant by the kind of a column; all others are text, which is JSON where something is nested."""
TERMS = (
    "citeAs", "column", "equivalentProperty", "extract", "field", "fileObject", "fileSet", "fileProperty", "format",
    "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex",
    "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform",
)  # fmt: skip
CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in TERMS},
}
"""Of Croissant 1.0: what the names in its JSON-LD mean."""


def check_names(licence: str, hub: str) -> None:
    """Raise ConfigError where a licence cannot be SPDX's, or a dataset is none of the Hub."""
    if licence and not re.fullmatch(r"[A-Za-z0-9.+-]+", licence):
        raise ConfigError(f"A licence is a name of SPDX, got {licence!r}. One is: --licence CC-BY-4.0")
    if hub and not re.fullmatch(r"[\w.-]+/[\w.-]+", hub):
        raise ConfigError(f"A dataset on the Hugging Face Hub is USER/NAME, got {hub!r}. One is: --hub ada/boards")


def describe_data(made: Edition, tables: Mapping[str, bytes], licence: str, hub: str) -> dict[str, bytes]:
    """Return the files that describe an edition's data to other programs, by their names.

    Args:
        made: The edition.
        tables: Its tables, Parquet, by the names of their files.
        licence: Of the data, as SPDX; empty where nobody said it.
        hub: Dataset on the Hugging Face Hub that the edition is to be, ``USER/NAME``; without one there are no scores.
    """
    texts = {"board.schema.json": as_json(board_schema()), "croissant.json": as_json(croissant(made, tables, licence))}
    texts |= {f"{SCORES}/{model}.yaml": text for model, text in hub_scores(made, hub).items()} if hub else {}
    return {name: f"{text.rstrip()}\n".encode() for name, text in texts.items()}


def board_schema() -> dict[str, Any]:
    """Return the JSON Schema, draft 2020-12, of ``board.json`` at the version ``SCHEMA``."""
    seed = _record({name: TYPES[kind] for name, (kind, _) in OF_TRIAL.items() if name not in OF_ROW})
    row = _record({**{column.key: _type_of(column) for column in of("record")}, "seeds": _list(seed)})
    texts = dict.fromkeys(("edition", "sha256", "title", "created", "commit"), TYPES["text"])
    counts = {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}
    tops = {"type": "object", "additionalProperties": {"type": "number"}}
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:longwave:edition:schema:{SCHEMA}",
        "title": f"board.json of an edition of Longwave, version {SCHEMA}",
    }
    return head | _record({"schema": {"const": SCHEMA}, **texts, "counts": counts, "tops": tops, "rows": _list(row)})


def _record(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": sorted(properties),
        "additionalProperties": False,
    }


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _type_of(column: Column) -> dict[str, Any]:
    return {**(NESTED[column.key] if column.kind == "json" else TYPES[column.kind]), "description": column.meaning}


def croissant(made: Edition, tables: Mapping[str, bytes], licence: str) -> dict[str, Any]:
    """Return what Croissant says of the tables of an edition; files are named from where it lies itself."""
    columns: dict[str, Mapping[str, tuple[str, str]]] = {
        "rows.parquet": {column.key: (column.kind, column.meaning) for column in of("parquet")},
        "trials.parquet": OF_TRIAL,
    }
    head = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": re.sub(r"\W+", "-", made.title).strip("-"),
        "description": "Boards of sequence models: rows with their seeds, medians and ranks, and printed numbers.",
        "url": f"urn:longwave:edition:{made.id}",
        "version": f"{SCHEMA}.0.0",
        "datePublished": made.created,
        "creator": {"@type": "sc:Organization", "name": "Longwave"},
        "citeAs": f"{made.title}: edition {made.id}",
    }
    files = [
        {
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "contentUrl": name,
            "encodingFormat": "application/x-parquet",
            "sha256": hashlib.sha256(tables[name]).hexdigest(),
        }
        for name in columns
    ]
    sets = [
        {
            "@type": "cr:RecordSet",
            "@id": (table := name.removesuffix(".parquet")),
            "name": table,
            "field": [_field(table, column, *told) for column, told in told_of.items()],
        }
        for name, told_of in columns.items()
    ]
    stated = {"license": f"https://spdx.org/licenses/{licence}.html"} if licence else {}
    return head | stated | {"distribution": files, "recordSet": sets}


def _field(table: str, column: str, kind: str, meaning: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{column}",
        "name": column,
        "description": meaning,
        "dataType": OF_CROISSANT.get(kind, "sc:Text"),
        "source": {"fileObject": {"@id": f"{table}.parquet"}, "extract": {"column": column}},
    }


def hub_scores(made: Edition, dataset: str) -> dict[str, str]:
    """Return for each model what ``.eval_results/`` of its repository on the Hub says: its best row of each board.

    The value is the median over all seeds. Rows without a rank, as imported ones that nobody trusts, are left out.
    """
    scores: dict[str, dict[tuple[str, str], str]] = {}
    for row in made.rows:  # the best of a board first
        if row["rank_low"] is not None and row["median"] is not None:
            scores.setdefault(row["model"], {}).setdefault((row["task"], row["variant"]), _score(made, row, dataset))
    return {model: "".join(of_board.values()) for model, of_board in scores.items()}


def _score(made: Edition, row: Mapping[str, Any], dataset: str) -> str:
    """Return one score as YAML; a text in quotes is the same in JSON."""
    task = re.sub(r"[^a-z0-9]+", "_", f"{row['task']} {row['variant']}".lower()).strip("_")
    seeds = row["n"] + row["diverged"]
    notes = f"{row['title']}: {row['metric']} [{row['unit']}], {row['goal']}, median of {seeds} seeds, row {row['key']}"
    place, name = f"https://huggingface.co/datasets/{dataset}", f"{made.title}, {made.id}"
    quoted = {key: json.dumps(text, ensure_ascii=False) for key, text in (("name", name), ("notes", notes))}
    return (
        f"- dataset:\n    id: {dataset}\n    task_id: {task}\n  value: {row['median']!r}\n"
        f'  date: "{made.created}"\n'
        f"  source:\n    url: {place}\n    name: {quoted['name']}\n  notes: {quoted['notes']}\n"
    )
