"""Pages of the reference: commands, keys of files, columns of boards, Python. All are generated from the code."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from markdown_parts import attributes, code, escape, join, lead, table
from pydantic import BaseModel
from typer._click.core import Context

import longwave
from docs.catalogue_pages import describe_origin
from longwave.models.base.param import Param
from longwave.platform.api.graph_module import GraphModule
from longwave.platform.api.sequence_module import SequenceModule
from longwave.platform.boards.columns import COLUMNS
from longwave.platform.cli.app import CommandGroup, LazyCommand
from longwave.platform.cli.main import app
from longwave.platform.registry import shipped_tasks
from longwave.platform.sweeps.file.schema import RecipeChanges, SweepFile
from longwave.platform.sweeps.file.values import Budget, Halving, KnownStudy, Race, Range, Wider
from longwave.platform.training.rules import COMMON, optimisers, schedules
from longwave.tasks.base.spec import Recipe
from longwave.tasks.cards.keys import KINDS, list_keys

TABLES: tuple[type[BaseModel], ...] = (Range, Halving, Race, Wider, Budget, KnownStudy)
"""Tables of a sweep file, each with its own keys."""
UNSAID: Mapping[str, str] = {"array": "list", "object": "table", "null": "", "const": ""}


def reference_pages() -> dict[str, str]:
    """Return the text of each page by name."""
    return {
        "commands": command_page(),
        "sweep_file": sweep_page(),
        "card": card_page(),
        "columns": column_page(),
        "python": python_page(),
        "data_licences": licence_page(),
    }


def list_commands() -> Iterator[tuple[str, Any]]:
    """Yield each command with its full name, ``longwave`` itself first."""
    yield "longwave", app
    for name, one in sorted(app.commands.items()):
        yield f"longwave {name}", one.load() if isinstance(one, LazyCommand) else one
        for below, command in sorted(one.commands.items()) if isinstance(one, CommandGroup) else ():
            yield f"longwave {name} {below}", command.load()


def command_page() -> str:
    """Return the page of all commands and options."""
    return join("# Commands", "The `--help` of every command.", *(_command(*pair) for pair in list_commands()))


def _command(words: str, command: Any) -> str:
    context = Context(command, info_name=words, **app.context_settings)  # for the names of the help option
    text, _, example = (command.help or "").partition("\n\nExample: ")
    example = example.partition("\n")[0]  # what follows has a page of its own
    records = filter(None, (param.get_help_record(context) for param in command.params))
    below = sorted(getattr(command, "commands", {}))
    return join(
        f"{'#' * (len(words.split()) + (words == 'longwave'))} {words}",
        "\n\n".join(map(escape, text.split("\n\n"))),
        f"```sh\n{' '.join([words, *command.collect_usage_pieces(context)])}\n```",
        f"Example: {code(example.strip())}" if example else "",
        f"Commands: {', '.join(map(code, below))}" if below and words != "longwave" else "",
        table(("option", "meaning"), ((code(names), escape(meaning)) for names, meaning in records)),
    ).rstrip()


def sweep_page() -> str:
    """Return the page of all keys of a sweep file."""
    schema = SweepFile.model_json_schema()
    meanings = {**attributes(RecipeChanges), **attributes(SweepFile)}
    meanings |= {name: text for name, text in attributes(Recipe).items() if name in RecipeChanges.model_fields}
    return join(
        "# Keys of a sweep file",
        "A sweep file is TOML. [Write a sweep](../sweeps.md) begins with a short one. Whatever it omits" 
        " comes from the task's published recipe.",
        "## At the top",
        _keys(schema, meanings),
        *(f"## {part.__name__}\n\n{join(lead(part), _keys(schema['$defs'][part.__name__], attributes(part)))}".rstrip()
          for part in TABLES),
        "## Training numbers",
        "What `[recipe]` may fix and `[space.MODEL]` may search, besides `lr` and the model's own parameters, which"
        " are on [its page](models/index.md). `rate_readout` and the like multiply η for one group of weights.",
        join(*_training_numbers()).rstrip(),
    )  # fmt: skip


def _keys(schema: Mapping[str, Any], meanings: Mapping[str, str]) -> str:
    needed = schema.get("required", ())
    return table(
        ("key", "value", "by default", "meaning"),
        (
            (code(name), _kind(key), "needed" if name in needed else _default(key), escape(meanings.get(name, "")))
            for name, key in schema["properties"].items()
        ),
    )


def _default(key: Mapping[str, Any]) -> str:
    value = key.get("default")
    return (
        ""
        if value in (None, "", [], {}) or "$ref" in key
        else code(str(value).lower() if isinstance(value, bool) else str(value))
    )


def _kind(key: Mapping[str, Any]) -> str:
    """Return the allowed values, in words."""
    if choices := key.get("anyOf") or key.get("oneOf"):
        return " or ".join(dict.fromkeys(filter(None, map(_kind, choices))))
    if "$ref" in key:
        name = key["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in key or "enum" in key:
        return ", ".join(code(str(value).lower()) for value in key.get("enum", [key.get("const")]))
    if key.get("type") == "array":
        return f"list of {_kind(key['items'])}"
    if key.get("type") == "object":
        inner = _kind(key["additionalProperties"]) if isinstance(key.get("additionalProperties"), dict) else ""
        return f"table of {inner}" if inner else "table"
    return {**KINDS, **UNSAID}.get(key.get("type", ""), "value")


def _training_numbers() -> Iterator[str]:
    groups = {f"optimiser {name!r}": one.params for name, one in optimisers().items()}
    groups |= {f"schedule {name!r}": one.params for name, one in schedules().items()} | {"any": COMMON}
    lines = [
        (code(p.name), code(_range(p)), escape(p.meaning), escape(of)) for of, params in groups.items() for p in params
    ]
    yield table(("number", "usual range", "meaning", "of"), lines)


def _range(param: Param) -> str:
    return f"[{param.low:g}, {param.high:g}]"


def card_page() -> str:
    """Return the page of all keys of a data card."""
    return join(
        "# Keys of a data card",
        "A card is TOML beside the data. `longwave start FILE` writes one, `longwave tasks add CARD` makes it a task.",
        table(
            ("key", "value", "meaning"),
            ((code(name), escape(kind), escape(meaning)) for name, kind, meaning in list_keys()),
        ),
    )


def column_page() -> str:
    """Return the page of the columns of a board."""
    lines = ((code(c.key), escape(c.heading), escape(c.unit), escape(c.meaning)) for c in COLUMNS)
    return join(
        "# Columns of a board",
        "`key` is the column's name in JSON, CSV and Parquet, and for `longwave board --columns`; it never changes.",
        table(("key", "heading", "unit", "meaning"), lines),
    )


def python_page() -> str:
    """Return the page of the Python interface, filled in by autodoc."""
    parts = []
    for name, file in sorted(longwave.FUNCTIONS.items()):
        module = importlib.import_module(f"longwave.platform.api.{file}")
        answer = getattr(module, name).__annotations__["return"]
        parts += [f".. autofunction:: longwave.{name}", f".. autoclass:: {module.__name__}.{answer}\n   :members:"]
    layers = [
        f".. autoclass:: {kind.__module__}.{kind.__name__}\n   :members:" for kind in (SequenceModule, GraphModule)
    ]
    return join(
        "# Python",
        "[In Python](../python.md) begins with ten lines. `import longwave as lw` imports no large library.",
        "## Functions",
        *(f"```{{eval-rst}}\n{part}\n```" for part in dict.fromkeys(parts)),
        "## Layers",
        "Each layer is a module of torch; its hyper-parameters and options are on [its page](models/index.md).",
        *(f"```{{eval-rst}}\n{part}\n```" for part in layers),
    )


def licence_page() -> str:
    """Return the page of the licences of all data that tasks use."""
    lines = (
        (f"[{escape(spec.title)}](tasks/{name}.md)", describe_origin(spec),
         escape(spec.licence), escape(spec.source))
        for name, spec in sorted(shipped_tasks().items())
    )  # fmt: skip
    return join(
        "# Licences of data",
        "As declared by each task. For the package itself see [Licences](../licences.md).",
        table(("task", "data are", "licence", "source"), lines),
    )
