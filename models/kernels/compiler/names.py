"""The names in a function's code, and the libraries that give equal results for equal arguments."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any, NamedTuple

LAYERS, KERNELS = (__name__.replace("kernels.compiler.names", folder) for folder in ("base", "kernels"))
"""Packages of the layers' base classes and of the compiler: they do not change at run time."""
PURE = frozenset(
    "abc builtins cmath collections contextlib copy dataclasses enum fractions functools itertools math "
    "numbers numpy operator torch types typing".split()
)
"""Libraries of pure functions."""
MOVING = ("numpy.random", "torch.backends", "torch.cuda", "torch.distributed", "torch.jit", "torch.mps", "torch.random")
"""Their modules that are not pure."""
STATEFUL = frozenset(
    "__import__ breakpoint compile eval exec globals hash id initial_seed input locals manual_seed open print seed "
    "lru_cache cache".split()
)
"""Their functions that are not pure, like those whose names begin or end as listed here."""
STATEFUL_NAMES = (("get_", "set_"), ("_enabled",))
COMPUTED = frozenset("__getattr__ __getattribute__ dir getattr hasattr vars".split())
"""Their functions that read attributes by computed names."""


class Names(NamedTuple):
    """The names in a function's code, and in that of nested functions.

    Attributes:
        globals: Names of the module, or builtins.
        all: All names, and all strings.
        imports: Modules imported when it runs.
        codes: Its own code, and that of nested functions.
    """

    globals: frozenset[str]
    all: frozenset[str]
    imports: frozenset[str]
    codes: frozenset[CodeType]


@dataclass(frozen=True)
class Reads:
    """What the executed code can name.

    Attributes:
        codes: The functions' code.
        names: All names and strings in it.
        computed: Whether it reads attributes by computed names.
        ignored: Labels to leave out, as the code itself changes their values.
    """

    codes: frozenset[CodeType] = frozenset()
    names: frozenset[str] = frozenset()
    computed: bool = False
    ignored: frozenset[str] = frozenset()


@cache
def names_of(code: CodeType) -> Names:
    """Return the names in a function's code."""
    steps = [*dis.get_instructions(code)]
    global_names = frozenset(str(s.argval) for s in steps if s.opname.endswith(("_GLOBAL", "_NAME", "_GLOBALS")))
    imported = frozenset(str(s.argval) for s in steps if s.opname == "IMPORT_NAME")
    inner = [names_of(c) for c in code.co_consts if isinstance(c, CodeType)]
    return Names(
        global_names.union(*(n.globals for n in inner)) - imported,
        frozenset((*code.co_names, *_texts(code.co_consts))).union(*(n.all for n in inner)),
        imported.union(*(n.imports for n in inner)),
        frozenset((code,)).union(*(n.codes for n in inner)),
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (tuple, frozenset)):
        for inner in value:
            yield from _texts(inner)


def is_ours(home: str) -> bool:
    """Return whether a module belongs to the layers' base classes or to the compiler."""
    return home.startswith((LAYERS, KERNELS))


def is_fixed(home: str) -> bool:
    """Return whether a module is free of state."""
    pure = home.partition(".")[0].removeprefix("_") in PURE  # C implementations have an underscore
    return is_ours(home) or (pure and not home.startswith(MOVING))


def is_library(home: str) -> bool:
    """Return whether a module is Python's own, torch's, numpy's or the compiler's: its code is not followed."""
    root = home.partition(".")[0]
    return root in PURE or root in sys.stdlib_module_names or home.startswith(KERNELS)


def is_stateful(home: str, name: str) -> bool:
    """Return whether a library's function may read or change state."""
    starts, ends = STATEFUL_NAMES
    named = name in STATEFUL or (home.startswith("torch") and (name.startswith(starts) or name.endswith(ends)))
    return is_library(home) and (named or not is_fixed(home))
