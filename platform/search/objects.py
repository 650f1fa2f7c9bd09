"""Optuna's samplers and pruners by the names of their classes, with arguments that a sweep file can hold."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from types import NoneType
from typing import Any

from longwave.platform.errors import ConfigError, did_you_mean

CLASS = "class"
"""Key under which an argument that is itself one of Optuna's objects names its class; the others are its arguments."""
PLAIN: Mapping[str, tuple[type, ...]] = {
    "int": (int,), "float": (int, float), "str": (str,), "bool": (bool,), "None": (NoneType,),
}  # fmt: skip
"""Types of arguments by what Optuna's annotations call them."""
OTHER_NAMES = {"deterministic_objective": "_deterministic"}
"""Attributes in which an object keeps an argument of another name."""
MOST_POINTS = 2_000_000
"""Of a grid, or of a space that is gone through, which Optuna lists in memory."""
OWN_HALVING = ("SuccessiveHalvingPruner", "HyperbandPruner")
"""Pruners that are successive halving, which a sweep has without them."""


def import_optuna() -> Any:
    """Return Optuna, which then logs errors alone."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "IProgress not found")  # its tqdm, in a notebook without widgets
        import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def make_sampler(name: str, arguments: Mapping[str, Any], seed: int | None = None) -> Any:
    """Return the sampler ``optuna.samplers.NAME``, and each sampler among its arguments, with this seed.

    Raises:
        ConfigError: There is no such class or argument, an argument has another type, or what it needs is not
            installed; the message names it.
    """
    return _make("sampler", name, arguments, seed)


def make_pruner(name: str, arguments: Mapping[str, Any]) -> Any:
    """Return the pruner ``optuna.pruners.NAME``.

    Raises:
        ConfigError: As ``make_sampler``; or it is successive halving.
    """
    return _make("pruner", name, arguments, None)


def describe_object(made: Any) -> tuple[str, dict[str, Any]]:
    """Return class name and arguments of a sampler or pruner, as ``make_sampler`` takes them, but for its seed.

    Optuna keeps no list of arguments: each is looked for under its name among the object's attributes, and left out
    where it is the default.

    Raises:
        ConfigError: The class is not Optuna's, or an argument is none that a file can hold.
    """
    kind = type(made)
    if _classes().get(kind.__name__) is not kind:
        advice = "Draws are repeated from the store, so a sweep takes Optuna's own classes"
        raise ConfigError(f"{advice}, got one of {kind.__module__}.{kind.__name__}.")
    arguments: dict[str, Any] = {}
    for name, parameter in _parameters(kind).items():
        value, default = next(_attributes(made, name), parameter.default), parameter.default
        if value is not default and value != default and not _is_filled_in(kind, name, value):
            arguments[name] = _plain(kind.__name__, name, value)
    return kind.__name__, arguments


def _make(what: str, name: str, arguments: Mapping[str, Any], seed: int | None) -> Any:
    import_optuna()
    ending = what.capitalize()
    known = {n: kind for n, kind in _classes().items() if what not in ("sampler", "pruner") or n.endswith(ending)}
    if name not in known:
        raise ConfigError(did_you_mean(what, name, known))
    if name in OWN_HALVING:
        advice = "eta is its reduction_factor, first its min_resource"
        raise ConfigError(f"{name} is successive halving: give the table [halving] in its place, where {advice}.")
    if name == "GridSampler" and (points := _count_grid(arguments.get("search_space"))) > MOST_POINTS:
        raise ConfigError(f"{name}: search_space has {points:,} points, at most {MOST_POINTS:,} fit in memory.")
    if name == "CmaEsSampler" and not _is_installed("cmaes"):
        raise ConfigError("CmaEsSampler needs the package cmaes. Install it with: pip install 'longwave[cmaes]'")
    parameters, made = _parameters(known[name]), dict[str, Any]()
    for key, value in arguments.items():
        if key not in parameters:
            hint = "Its seed follows from that of the sweep." if key == "seed" else ""
            raise ConfigError(did_you_mean(f"argument of {name}", key, parameters, hint))
        made[key] = _argument(name, parameters[key], value, seed)
    if missing := [n for n, p in parameters.items() if p.default is p.empty and n not in made]:
        raise ConfigError(f"{name} needs the argument {missing[0]}.")
    if "seed" in inspect.signature(known[name]).parameters:
        made["seed"] = seed
    try:
        with warnings.catch_warnings(action="ignore"):
            return known[name](**made)
    except Exception as error:
        raise ConfigError(f"{name}: {str(error).strip().splitlines()[0]}") from None


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # it is barred
        return False


def _count_grid(search_space: Any) -> int:
    lists = search_space.values() if isinstance(search_space, Mapping) else ()
    return math.prod(len(values) for values in lists if isinstance(values, list | tuple))


def _argument(of: str, parameter: inspect.Parameter, value: Any, seed: int | None) -> Any:
    """Return an argument as Optuna takes it: a table that names a class, or the class's name alone, becomes an object.

    Raises:
        ConfigError: It has another type than the annotation says.
    """
    wanted = str(parameter.annotation).strip("'")
    if isinstance(value, Mapping) and CLASS in value:
        return _make(parameter.name, value[CLASS], {k: v for k, v in value.items() if k != CLASS}, seed)
    if isinstance(value, str) and "Base" in wanted:
        return _make(parameter.name, value, {}, seed)
    parts = wanted.split(" | ")
    plain = [kind for part in parts if part in PLAIN for kind in PLAIN[part]]
    is_plain = isinstance(value, tuple(plain)) and (not isinstance(value, bool) or bool in plain)
    if (set(parts) <= PLAIN.keys() and not is_plain) or (isinstance(value, float) and not math.isfinite(value)):
        raise ConfigError(f"{of}: {parameter.name} must be {wanted.replace('|', 'or')}, got {value!r}.")
    return value


def _classes() -> dict[str, Any]:
    """Return Optuna's samplers and pruners, and what its genetic samplers are made of, by name."""
    optuna = import_optuna()
    places = (optuna.samplers, optuna.samplers.nsgaii, optuna.pruners)
    named = {name: kind for place in places for name, kind in vars(place).items() if inspect.isclass(kind)}
    return {name: kind for name, kind in named.items() if not inspect.isabstract(kind) and "Base" not in name}


def _parameters(kind: type[Any]) -> dict[str, inspect.Parameter]:
    """Return what a class is made with, but for its seed."""
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = inspect.signature(kind).parameters.items()
    return {name: p for name, p in named if name != "seed" and p.kind not in variadic}


def _attributes(made: Any, name: str) -> Iterator[Any]:
    """Yield the attributes under an argument's name, the object's own first, then those of its parts."""
    parts = [made]
    for part in parts:
        own = part._asdict() if hasattr(part, "_asdict") else getattr(part, "__dict__", {})
        yield from (own[key] for key in (name, f"_{name}", OTHER_NAMES.get(name)) if key in own)
        parts += [v for v in own.values() if type(v).__module__.startswith("optuna.") and v not in parts]


def _is_filled_in(kind: type[Any], name: str, value: Any) -> bool:
    """Return whether a value is what the class itself puts where nothing is given."""
    if isinstance(value, float) and not math.isfinite(value):
        return True
    try:
        with warnings.catch_warnings(action="ignore"):
            default = next(_attributes(kind(), name), None)
    except (TypeError, ValueError):
        return False  # something must be given
    if type(value) is not type(default):
        return False
    if type(value).__name__ in _classes():
        return describe_object(value) == describe_object(default)
    is_part = type(value).__module__.startswith("optuna.") and not inspect.isroutine(value)
    return is_part or bool(value == default)


def _plain(of: str, name: str, value: Any) -> Any:
    """Return an argument as a file holds it.

    Raises:
        ConfigError: It cannot.
    """
    if isinstance(value, Mapping):
        return {key: _plain(of, name, each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(of, name, each) for each in value]
    if value is None or isinstance(value, int | float | str):
        return value
    if _classes().get(type(value).__name__) is type(value):
        kind, arguments = describe_object(value)
        return {CLASS: kind, **arguments}
    raise ConfigError(f"{of}: {name} is a {type(value).__name__}, which no sweep file can hold. Leave it out.")
