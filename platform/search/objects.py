"""Optuna's samplers and pruners by class name, with arguments as in a sweep file."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from types import NoneType
from typing import Any

from longwave.platform.errors import ConfigError, did_you_mean

CLASS = "class"
"""Key of the class name in an argument that is itself an Optuna object; other keys are its arguments."""
PLAIN: Mapping[str, tuple[type, ...]] = {
    "int": (int,), "float": (int, float), "str": (str,), "bool": (bool,), "None": (NoneType,),
}  # fmt: skip
"""Types of arguments by their names in Optuna's annotations."""
IN_WORDS = {"int": "a whole number", "float": "a number", "str": "a string", "bool": "true or false"}
"""The same in words; None is a default, which a sweep file leaves out."""
OTHER_NAMES = {"deterministic_objective": "_deterministic"}
"""Attributes in which objects store arguments of another name."""
MOST_POINTS = 2_000_000
"""Maximal points of a grid or a brute-force space, which Optuna lists in memory."""
OWN_HALVING = ("SuccessiveHalvingPruner", "HyperbandPruner")
"""Pruners that are successive halving, for which a sweep has its own settings."""


def import_optuna() -> Any:
    """Import Optuna, and make it log only errors."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "IProgress not found")  # from tqdm, in a notebook without widgets
        import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def make_sampler(
    name: str, arguments: Mapping[str, Any], seed: int | None = None, short_names: Iterable[str] = ()
) -> Any:
    """Return the sampler ``optuna.samplers.NAME``, and each sampler among its arguments, with this seed. The message on
    an unknown name suggests ``short_names`` as well.

    Raises:
        ConfigError: There is no such class or argument, an argument has another type, or a required package is not
            installed; the message names it.
    """
    return _make("sampler", name, arguments, seed, short_names)


def make_pruner(name: str, arguments: Mapping[str, Any]) -> Any:
    """Return the pruner ``optuna.pruners.NAME``.

    Raises:
        ConfigError: As ``make_sampler``; or it is successive halving.
    """
    return _make("pruner", name, arguments, None)


def describe_object(instance: Any) -> tuple[str, dict[str, Any]]:
    """Return class name and arguments of a sampler or pruner, as for ``make_sampler``, without its seed. Optuna does
    not store arguments: each is looked up by name among the object's attributes, and left out if it is the default.

    Raises:
        ConfigError: The class is not Optuna's, or an argument cannot be written to a file.
    """
    kind = type(instance)
    if _classes().get(kind.__name__) is not kind:
        advice = "Draws are repeated from the store, so a sweep takes Optuna's own classes"
        raise ConfigError(f"{advice}, got one of {kind.__module__}.{kind.__name__}.")
    arguments: dict[str, Any] = {}
    for name, parameter in _parameters(kind).items():
        value, default = next(read_attributes(instance, name), parameter.default), parameter.default
        if value is not default and value != default and not _is_filled_in(kind, name, value):
            arguments[name] = _plain(kind.__name__, name, value)
    return kind.__name__, arguments


def _make(what: str, name: str, arguments: Mapping[str, Any], seed: int | None, short_names: Iterable[str] = ()) -> Any:
    import_optuna()
    ending = next((kind for kind in ("Sampler", "Pruner") if what.endswith(kind.lower())), "")
    classes = {n: kind for n, kind in _classes().items() if not ending or n.endswith(ending)}
    if name not in classes:
        raise ConfigError(did_you_mean(what, name, [*classes, *short_names]))
    if name in OWN_HALVING:
        advice = "eta is its reduction_factor, first its min_resource"
        raise ConfigError(f"{name} is successive halving: use the table [halving] instead, where {advice}.")
    if name == "GridSampler" and (points := count_grid(arguments.get("search_space"))) > MOST_POINTS:
        raise ConfigError(f"{name}: search_space has {points:,} points, at most {MOST_POINTS:,} fit in memory.")
    if name == "CmaEsSampler" and not _is_installed("cmaes"):
        raise ConfigError("CmaEsSampler needs the package cmaes. Install it with: pip install 'longwave[cmaes]'")
    parameters, keywords = _parameters(classes[name]), dict[str, Any]()
    for key, value in arguments.items():
        if key not in parameters:
            hint = "Its seed follows from that of the sweep." if key == "seed" else ""
            raise ConfigError(did_you_mean(f"argument of {name}", key, parameters, hint))
        keywords[key] = _argument(name, parameters[key], value, seed)
    if missing := [n for n, p in parameters.items() if p.default is p.empty and n not in keywords]:
        raise ConfigError(f"{name} needs the argument {missing[0]}.")
    if "seed" in inspect.signature(classes[name]).parameters:
        keywords["seed"] = seed
    try:
        with warnings.catch_warnings(action="ignore"):
            return classes[name](**keywords)
    except Exception as error:
        raise ConfigError(f"{name}: {str(error).strip().splitlines()[0]}") from None


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # its import is blocked
        return False


def count_grid(search_space: Any) -> int:
    """Return the number of points of a grid sampler's ``search_space``."""
    lists = search_space.values() if isinstance(search_space, Mapping) else ()
    return math.prod(len(values) for values in lists if isinstance(values, list | tuple))


def _argument(owner: str, parameter: inspect.Parameter, value: Any, seed: int | None) -> Any:
    """Return an argument for Optuna: a table with a class, or just a class name, becomes an object.

    Raises:
        ConfigError: Its type differs from the annotation.
    """
    expected = inspect.formatannotation(parameter.annotation).strip("'")
    if isinstance(value, Mapping) and CLASS in value:
        if not isinstance(value[CLASS], str):
            raise ConfigError(f"{owner}: {parameter.name}: class must be the name of a class, got {value[CLASS]!r}.")
        return _make(parameter.name, value[CLASS], {k: v for k, v in value.items() if k != CLASS}, seed)
    if isinstance(value, str) and "Base" in expected:
        return _make(parameter.name, value, {}, seed)
    if any(kind in expected for kind in ("Mapping", "dict")) and not isinstance(value, Mapping | NoneType):
        raise ConfigError(f"{owner}: {parameter.name} must be a table, got {value!r}.")
    parts = expected.split(" | ")
    plain = [kind for part in parts if part in PLAIN for kind in PLAIN[part]]
    is_plain = isinstance(value, tuple(plain)) and (not isinstance(value, bool) or bool in plain)
    if (set(parts) <= PLAIN.keys() and not is_plain) or not _is_finite(value):
        words = " or ".join(word for kind, word in IN_WORDS.items() if kind in parts) if _is_finite(value) else "finite"
        raise ConfigError(f"{owner}: {parameter.name} must be {words}, got {value!r}.")
    return value


def _is_finite(value: Any) -> bool:
    """Return whether all numbers in a value are finite, those in lists and tables too."""
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def _classes() -> dict[str, Any]:
    """Return Optuna's samplers, pruners and parts of genetic samplers by class name."""
    optuna = import_optuna()
    modules = (optuna.samplers, optuna.samplers.nsgaii, optuna.pruners)
    classes = {name: kind for module in modules for name, kind in vars(module).items() if inspect.isclass(kind)}
    return {name: kind for name, kind in classes.items() if not inspect.isabstract(kind) and "Base" not in name}


def _parameters(kind: type[Any]) -> dict[str, inspect.Parameter]:
    """Return the constructor parameters of a class, without its seed."""
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = inspect.signature(kind).parameters.items()
    return {name: p for name, p in named if name != "seed" and p.kind not in variadic}


def read_attributes(instance: Any, name: str) -> Iterator[Any]:
    """Yield the attributes with an argument's name, first of the object, then of its parts."""
    parts = [instance]
    for part in parts:
        attributes = part._asdict() if hasattr(part, "_asdict") else getattr(part, "__dict__", {})
        yield from (attributes[key] for key in (name, f"_{name}", OTHER_NAMES.get(name)) if key in attributes)
        parts += [v for v in attributes.values() if type(v).__module__.startswith("optuna.") and v not in parts]


def _is_filled_in(kind: type[Any], name: str, value: Any) -> bool:
    """Return whether a value is the one that the class sets if none is given."""
    if isinstance(value, float) and not math.isfinite(value):
        return True
    try:
        with warnings.catch_warnings(action="ignore"):
            default = next(read_attributes(kind(), name), None)
    except (TypeError, ValueError):
        return False  # an argument is required
    if type(value) is not type(default):
        return False
    if type(value).__name__ in _classes():
        return describe_object(value) == describe_object(default)
    is_part = type(value).__module__.startswith("optuna.") and not inspect.isroutine(value)
    return is_part or bool(value == default)


def _plain(owner: str, name: str, value: Any) -> Any:
    """Return an argument as written to a file.

    Raises:
        ConfigError: It cannot be written.
    """
    if isinstance(value, Mapping):
        return {key: _plain(owner, name, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(owner, name, item) for item in value]
    if value is None or isinstance(value, int | float | str):
        return value
    if _classes().get(type(value).__name__) is type(value):
        kind, arguments = describe_object(value)
        return {CLASS: kind, **arguments}
    raise ConfigError(f"{owner}: {name} is a {type(value).__name__}, which no sweep file can hold. Leave it out.")
