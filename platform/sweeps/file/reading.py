"""Read a sweep file: from TOML to a checked ``SweepFile``, or a one-line error that says what is wrong and where."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.names import find_spelling, list_names
from longwave.platform.paths import check_is_file
from longwave.platform.plugins.known import add_plugin
from longwave.platform.redaction import redacted
from longwave.platform.search.objects import make_pruner
from longwave.platform.search.space import SAMPLERS, check_sampler, learns
from longwave.platform.sweeps.file.schema import RecipeChanges, SweepFile
from longwave.platform.sweeps.file.values import Budget, Cells, Halving, KnownStudy, Race, Range, Strict, Wider
from longwave.rules import describe_rule

NAMED = {"longwave.tasks": ("task", "tasks", "variants"), "longwave.models": ("models", "space", "model", "study")}
"""Fields of a sweep file with names of tasks and models, by their package."""
UNION_TAGS = ("a race", "no race", "a range", "a number", "choices", "constrained-int", "literal['auto']")
"""Parts of pydantic's error locations that name a form of value it tried, not a key of the file."""
LARGEST_NUMBER = 2**63 - 1
"""Greatest whole number of TOML."""
MAX_TRIALS = 2_000_000
"""Greatest number of trials of a sweep, retrainings included: planning a million takes minutes."""
SEARCHES = {"halving", "pruner", "race", "rounds", "sampler", "study", "warm", "wider"}
"""Keys that have no effect without a search."""
Checked = TypeVar("Checked", bound=Strict)


class _Grid(Strict):
    grid: dict[str, Cells]


def with_keys(content: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Return a file's content with canonical names of models and tasks; unknown names stay as they are.

    Raises:
        ConfigError: A table has two spellings of one name; ``where`` precedes the table's name in the message.
    """
    resolved = dict(content)
    if isinstance(wider := resolved.get("wider"), Mapping):
        resolved["wider"] = with_keys(wider, f"{where}wider.")
    for package, fields in NAMED.items():
        names = list_names(package)
        for field in fields:
            value = resolved.get(field)
            if isinstance(value, Mapping):
                resolved[field] = _rename_keys(value, names, f"{where}{field}")
            elif value is not None:
                resolved[field] = (
                    [_key(name, names) for name in value] if isinstance(value, list) else _key(value, names)
                )
    return resolved


def _rename_keys(table: Mapping[str, Any], names: Collection[str], where: str) -> dict[str, Any]:
    spelled: dict[str, str] = {}
    for name in table:
        if (first := spelled.setdefault(_key(name, names), name)) != name:
            raise ConfigError(f"{where}: {first} and {name} are the same name. Keep one.")
    return {_key(name, names): content for name, content in table.items()}


def _key(name: Any, names: Collection[str]) -> Any:
    return find_spelling(name, names) if isinstance(name, str) else name


def read_sweep(path: Path) -> SweepFile:
    """Return the sweep in ``path``, and load its plugins.

    Raises:
        ConfigError: The file is missing, is not TOML, or breaks a rule; the message names file, key and rule.
    """
    check_is_file(path, "the sweep file")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"Cannot read the sweep file {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}.") from None
    except ValueError:  # Python refuses whole numbers of more than 4,300 digits
        raise ConfigError(f"{path}: a whole number must lie within ±{LARGEST_NUMBER:,}.") from None
    except RecursionError:
        raise ConfigError(f"{path} is not a sweep file: its values are nested too deeply.") from None
    file = check_new_sweep(content, str(path))
    for plugin in file.plugins:
        add_plugin(path.parent / plugin)
    return file


def check_new_sweep(content: Mapping[str, Any], origin: str) -> SweepFile:
    """Return the sweep that ``content`` describes, as ``check_sweep``, if it has no setting without effect that sweeps
    in stores may have.
    """
    file = check_sweep(content, origin)
    if not file.wider:  # a second search learns from the first
        _check_learns(file, origin)
    if without_effect := next(_list_without_effect(file), None):
        raise ConfigError(f"{origin}: {without_effect}. Remove it.")
    return file


def _list_without_effect(file: SweepFile) -> Iterator[str]:
    """Yield the keys that have no effect in a file, each with the reason."""
    if file.halving and not file.halving.gate and "gate_most" in file.halving.model_fields_set:
        yield "halving: gate_most has no effect with gate = false"
    if file.race and not file.raced:
        yield f"race: has no effect with {'one search trial' if file.trials else 'trials = 0'}"
    if file.race and file.race.best > file.race.finalists and "best" in file.race.model_fields_set:
        yield f"race: best = {file.race.best} has no effect with {file.race.finalists} finalists"
    if file.keep_weights and not file.retrain:
        yield "keep_weights: has no effect with retrain = 0, as only the weights of retrainings are kept"


def check_sweep(content: Mapping[str, Any], origin: str) -> SweepFile:
    """Return the sweep that ``content`` describes; ``origin`` names it in errors.

    Raises:
        ConfigError: As ``read_sweep``.
    """
    file = _check(SweepFile, with_keys(content, f"{origin}: "), origin)
    if large := next(_list_large(content), None):
        raise ConfigError(f"{origin}: {large}: a whole number must lie within ±{LARGEST_NUMBER:,}.")
    if (file.task is None) == (not file.tasks):
        raise ConfigError(f"{origin}: give either task or tasks.")
    if len(set(file.tasks)) < len(file.tasks):
        raise ConfigError(f"{origin}: tasks: each task once, got {', '.join(file.tasks)}.")
    if file.tasks and file.variant:
        form = f'variants = {{{file.tasks[0]} = "{file.variant}"}}'
        raise ConfigError(f"{origin}: variant: is for one task; with several, give {form}.")
    if not file.trials:
        _check_unsearched(file, origin)
    _check_search(file, origin)
    for name, table in file.model.items():
        _check(_Grid, {"grid": table.get("grid", {})}, f"{origin}: model.{name}")
    if file.instead_of and (file.trials or file.has_grid):
        search = "a grid" if file.has_grid else f"trials {file.trials_text}"
        raise ConfigError(f"{origin}: instead_of: is only for fixed settings, with trials = 0; got {search}.")
    if unknown := sorted(file.variants.keys() - set(file.tasks)):
        raise ConfigError(f"{origin}: variants: {did_you_mean('task', unknown[0], file.tasks)}")
    if (total := file.trained * file.cell_count) > MAX_TRIALS:
        parts = f"{file.searched:,} trials and {file.retrain:,} retrainings of each of {file.cell_count:,} cells"
        raise ConfigError(f"{origin}: trials: a sweep has at most {MAX_TRIALS:,} in all, got {total:,}: {parts}.")
    return file


def _list_large(content: Any, key: str = "") -> Iterator[str]:
    """Yield the keys of whole numbers beyond those of TOML, 64 bits, which Python reads nevertheless."""
    if isinstance(content, Mapping):
        for name, value in content.items():
            yield from _list_large(value, f"{key}.{name}".lstrip("."))
    elif isinstance(content, list | tuple):
        for value in content:
            yield from _list_large(value, key)
    elif isinstance(content, int) and abs(content) > LARGEST_NUMBER:
        yield key


def _check_search(file: SweepFile, origin: str) -> None:
    """Raise ConfigError if the sampler, the pruner or a study cannot be used as the file says."""
    try:
        key = "sampler"
        check_sampler(file.sampler, file.sampler_arguments)
        key = "pruner"
        if file.pruner:
            make_pruner(file.pruner, file.pruner_arguments)
    except ConfigError as error:
        raise ConfigError(f"{origin}: {key}: {error}") from None
    if file.sampler not in SAMPLERS:  # older stores have sweeps with the short name and one round
        _check_learns(file, origin)
    if 0 < (trials := file.of_cell(0).trials) < file.rounds:
        raise ConfigError(f"{origin}: rounds: at most one for each of {trials} trials, got {file.rounds:,}.")
    for model, study in file.study.items():
        if redacted(study.storage) != study.storage:
            advice = "The store would keep it. Leave it out, and set PGPASSWORD or ~/.pgpass"
            raise ConfigError(f"{origin}: study.{model}: storage holds a password. {advice}.")
    if file.pruner_arguments and not file.pruner:
        raise ConfigError(f"{origin}: pruner_arguments: has no effect without a pruner. Name it: pruner = ...")
    if file.pruner and file.halving:
        raise ConfigError(f"{origin}: pruner: the file also has successive halving. Keep {file.pruner} or [halving].")


def _check_learns(file: SweepFile, origin: str) -> None:
    """Raise ConfigError if a sampler that learns has no earlier round to learn from."""
    if learns(file.sampler) and file.rounds == 1 and file.trials:
        reason = f"{file.sampler} learns from earlier rounds, and with rounds = 1 all trials are drawn at once"
        raise ConfigError(f"{origin}: rounds: {reason}. Set more rounds, such as rounds = 4.")


def _check_unsearched(file: SweepFile, origin: str) -> None:
    if not file.retrain:
        raise ConfigError(
            f"{origin}: trials: trials and retrain are both 0, so nothing would be trained. Set at least one."
        )
    if idle := sorted(file.model_fields_set & SEARCHES):
        raise ConfigError(f"{origin}: {idle[0]}: has no effect with trials = 0, which runs no search. Remove it.")


def check_recipe(content: Mapping[str, Any], origin: str) -> RecipeChanges:
    """Return the changes of a recipe that ``content`` describes.

    Raises:
        ConfigError: As ``read_sweep``.
    """
    return _check(RecipeChanges, content, origin)


def _allowed_keys(kind: type[Strict], path: Sequence[str]) -> Collection[str]:
    """Return the keys that are allowed where an unknown one was found."""
    if "space" in path[:-1]:
        return Range.model_fields
    parts: dict[str, type[Strict]] = {
        "study": KnownStudy,
        "wider": Wider,
        "halving": Halving,
        "race": Race,
        "budget": Budget,
    }
    return (parts.get(path[0], kind) if len(path) > 1 else kind).model_fields


def _check(kind: type[Checked], content: Mapping[str, Any], origin: str) -> Checked:
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        errors = error.errors()
        first = next((each for each in errors if each["type"] == "extra_forbidden"), errors[0])  # missing if misspelled
        path = [str(part) for part in first["loc"] if part not in UNION_TAGS]
        if first["type"] == "extra_forbidden":
            raise ConfigError(f"{origin}: {did_you_mean('key', path[-1], _allowed_keys(kind, path))}") from None
        missing = [str(each["loc"][0]) for each in errors if each["type"] == "missing" and len(each["loc"]) == 1]
        if kind is SweepFile and not content.keys() & {"task", "tasks"}:
            missing.insert(0, "task")
        if len(missing) > 1:
            raise ConfigError(f"{origin}: the keys {', '.join(missing)} are missing.") from None
        is_word = path[0] == "space" and isinstance(first["input"], str)
        step = f" To fix it, set it in [model.{path[1]}.recipe]; to draw it, give a list." if is_word else ""
        raise ConfigError(f"{origin}: {'.'.join(path)}: {describe_rule(first)}.{step}") from None
