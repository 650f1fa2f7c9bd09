"""Writes ``platform/api/layers.pyi``, the layers' modules for editors and type checkers, from the layers."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any, Literal, get_args, get_origin

from tree import ROOT

from longwave.platform.api.modules import modules
from longwave.platform.api.plain_module import Hyper, LoneModule
from longwave.platform.api.sequence_module import Only

FILE = ROOT / "platform/api/layers.pyi"
HEAD = '''"""Every layer as a plain module. Written by ``make freeze`` from what the models declare."""

from typing import Literal

from longwave.platform.api.graph_module import GraphModule
from longwave.platform.api.plain_module import Hyper
from longwave.platform.api.sequence_module import Only, SequenceModule

__all__ = [
    {names},
]
'''


def stub_text() -> str:
    """Return the current content of the file, formatted."""
    kinds = sorted(modules().values(), key=lambda kind: kind.__name__)
    made = HEAD.replace("{names}", ", ".join(f'"{kind.__name__}"' for kind in kinds)) + "".join(map(_class_text, kinds))
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(FILE), "-"]
    return subprocess.run(command, input=made, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def _class_text(kind: type[LoneModule]) -> str:
    """Return one class: its constructor, then its properties."""
    doc = (kind.__doc__ or "").splitlines()[0]
    made = list(inspect.signature(kind).parameters.values())
    arguments = ["self", *(_argument_text(p) for p in made if p.kind is not p.KEYWORD_ONLY)]
    arguments += ["*", *(_argument_text(p) for p in made if p.kind is p.KEYWORD_ONLY)]
    lines = [f"class {kind.__name__}({kind.__base__.__name__}):", f'    """{doc}"""', ""]  # type: ignore[union-attr]
    lines += [f"    def __init__({', '.join(arguments)}) -> None: ..."]
    layer_settings = {*(p.name for p in kind.LAYER.PARAMS), *kind.LAYER.OPTIONS}
    for p in (p for p in made if p.name in layer_settings):
        lines += ["    @property", f"    def {p.name}(self) -> {_attribute_type(p.annotation)}: ..."]
    return "\n".join([*lines, ""])


def _argument_text(p: inspect.Parameter) -> str:
    default = "" if p.default is p.empty else f" = {p.default!r}".replace("'", '"')
    return f"{p.name}: {_class_body(p.annotation)}{default}"


def _attribute_type(kind: Any) -> str:
    """Return the type of a module's property for a parameter: numbers are floats there."""
    return _class_body(kind).replace("Hyper", "float")


def _class_body(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return f"Literal[{', '.join(repr(choice) for choice in get_args(kind))}]".replace("'", '"')
    if isinstance(kind, type):
        return kind.__name__
    named = {Hyper: "Hyper", Hyper | None: "Hyper | None", int | None: "int | None", Only | None: "Only | None"}
    return named[kind]


def write_stubs() -> None:
    """Write the file."""
    FILE.write_text(stub_text(), encoding="utf-8")


if __name__ == "__main__":
    write_stubs()
