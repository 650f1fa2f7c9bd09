"""Files of an edition for other programs: JSON Schema, Croissant, and scores for model cards. Pure functions.

Croissant 1.0 is JSON-LD that describes the tables of a dataset and their columns (Akhtar et al. 2024,
arXiv 2403.19546). Scores are YAML files for ``.eval_results/`` of a model's repository on the Hugging Face Hub.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from longwave.platform.boards.columns import Column, of
from longwave.platform.boards.overview import best_on_validation
from longwave.platform.boards.row import Row
from longwave.platform.editions.edition import SCHEMA, Edition
from longwave.platform.editions.folder import SCORES
from longwave.platform.editions.shipped import rows_of
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
"""JSON Schema by the kind of a column."""
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
"""JSON Schema of nested columns, by key."""
OF_ROW = ("row", "task", "variant", "model")
"""Columns of retrainings in ``trials.parquet`` that belong to the row in ``board.json``."""
OF_CROISSANT = {"whole": "sc:Integer", "number": "sc:Float", "flag": "sc:Boolean"}
"""Type in Croissant by the kind of a column; all others are text, nested ones as JSON."""
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
"""The JSON-LD context of Croissant 1.0."""


def check_names(title: str, licence: str, hub: str) -> None:
    """Raise ConfigError if the title has no letter or digit, SPDX has no such licence, or ``hub`` is not a dataset on
    the Hub.
    """
    if not any(map(str.isalnum, title)):
        raise ConfigError(f"--title needs a letter or a digit, got {title!r}. One is: --title 'Boards of 2026'")
    if licence:
        licence_url(licence)
    if hub and not re.fullmatch(r"[\w.-]+/[\w.-]+", hub):
        raise ConfigError(f"A dataset on the Hugging Face Hub is USER/NAME, got {hub!r}. One is: --hub ada/boards")


def licence_url(licence: str) -> str:
    """Return the page of one licence on SPDX's list.

    Raises:
        ConfigError: The list has no such licence.
    """
    if re.fullmatch(r"(?!licenseref-)[a-z0-9.-]+", licence, re.IGNORECASE):
        with suppress(InvalidLicenseExpression):
            return f"https://spdx.org/licenses/{canonicalize_license_expression(licence)}.html"
    raise ConfigError(f"--licence takes one licence of https://spdx.org/licenses, such as CC-BY-4.0, got {licence!r}.")


def describe_data(edition: Edition, tables: Mapping[str, bytes], licence: str, hub: str) -> dict[str, bytes]:
    """Return the files that describe an edition's data to other programs, by name.

    Args:
        edition: The edition.
        tables: Its Parquet tables, by file name.
        licence: SPDX licence of the data; empty if not stated.
        hub: Dataset on the Hugging Face Hub to which the edition goes, ``USER/NAME``; without one there are no scores.
    """
    texts = {
        "board.schema.json": as_json(board_schema()),
        "croissant.json": as_json(croissant(edition, tables, licence)),
    }
    texts |= {f"{SCORES}/{model}.yaml": text for model, text in hub_scores(edition, hub).items()} if hub else {}
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


def croissant(edition: Edition, tables: Mapping[str, bytes], licence: str) -> dict[str, Any]:
    """Return the Croissant description of an edition's tables; file names are relative to it."""
    columns: dict[str, Mapping[str, tuple[str, str]]] = {
        "rows.parquet": {column.key: (column.kind, column.meaning) for column in of("parquet")},
        "trials.parquet": OF_TRIAL,
    }
    head = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": re.sub(r"\W+", "-", edition.title).strip("-"),
        "description": "Boards of sequence models: rows with their seeds, medians and ranks, and printed numbers.",
        "url": f"urn:longwave:edition:{edition.id}",
        "version": f"{SCHEMA}.0.0",
        "datePublished": edition.created,
        "creator": {"@type": "sc:Organization", "name": "Longwave"},
        "citeAs": f"{edition.title}: edition {edition.id}",
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
            "field": [_field(table, column, *description) for column, description in descriptions.items()],
        }
        for name, descriptions in columns.items()
    ]
    licence_field = {"license": licence_url(licence)} if licence else {}
    return head | licence_field | {"distribution": files, "recordSet": sets}


def _field(table: str, column: str, kind: str, meaning: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{column}",
        "name": column,
        "description": meaning,
        "dataType": OF_CROISSANT.get(kind, "sc:Text"),
        "source": {"fileObject": {"@id": f"{table}.parquet"}, "extract": {"column": column}},
    }


def hub_scores(edition: Edition, dataset: str) -> dict[str, str]:
    """Return the file for ``.eval_results/`` on the Hub for each model: its best row on validation on each board. The
    value is the median over all seeds. Rows without a rank, such as untrusted ones, are left out, as are provisional
    ones if the model has others there.
    """
    by_cell: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows_of(edition):
        if row.rank_low is not None and row.median is not None:
            by_cell.setdefault((row.model, row.task, row.variant), []).append(row)
    by_key, scores = {row["key"]: row for row in edition.rows}, dict[str, str]()
    for (model, *_), rows in by_cell.items():
        enough = [row for row in rows if not row.provisional] or rows
        score = _score(edition, by_key[best_on_validation(enough).key], dataset)
        scores[model] = scores.get(model, "") + score
    return scores


def _score(edition: Edition, row: Mapping[str, Any], dataset: str) -> str:
    """Return one score as YAML, in which quoted strings are as in JSON."""
    task = re.sub(r"[^a-z0-9]+", "_", f"{row['task']} {row['variant']}".lower()).strip("_")
    seeds = row["n"] + row["diverged"]
    notes = f"{row['title']}: {row['metric']} [{row['unit']}], {row['goal']}, median of {seeds} seeds, row {row['key']}"
    url, name = f"https://huggingface.co/datasets/{dataset}", f"{edition.title}, {edition.id}"
    quoted = {key: json.dumps(text, ensure_ascii=False) for key, text in (("name", name), ("notes", notes))}
    return (
        f"- dataset:\n    id: {dataset}\n    task_id: {task}\n  value: {row['median']!r}\n"
        f'  date: "{edition.created}"\n'
        f"  source:\n    url: {url}\n    name: {quoted['name']}\n  notes: {quoted['notes']}\n"
    )
