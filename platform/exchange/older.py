"""Bundles of older versions, read as if they were of the present one: the first was made before identities could grow,
the second explained a row by what tables call its variant, the third held curves epoch by epoch.

The version of a bundle says how its records are hashed. Those of older ones are checked here, as they lie in the file,
and named anew. Frozen: nothing here may change but to follow the present form.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from longwave.platform.exchange.curve import Curve
from longwave.platform.records import legacy
from longwave.platform.records.identity import digest, sha256
from longwave.platform.records.run import Point
from longwave.platform.records.trial import TrialConfig

OLDER = (1, 2, 3)
OWN = ("rerun",)
"""Facts of an environment that said how a run came about, and not where it was."""


def carried(text: bytes) -> str | None:
    """Return a bundle's content in the present form, as JSON, given a file's; None for a file that is not older.

    Raises:
        ValueError: A record of it has not the hash that it says, or cannot be carried over.
    """
    if not any(b'"version":%d' % version in text for version in OLDER):
        return None
    file = json.loads(text)
    if not isinstance(file, dict) or file.get("version") not in OLDER:
        return None
    try:
        _check(file)
        return json.dumps(_by_column(CARRIED[file["version"]](file["content"])))
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"it has not the form of version {file['version']}: {error}") from None


def _check(file: Mapping[str, Any]) -> None:
    """Raise ValueError where a record has not the hash that the bundle says."""
    content, first = file["content"], file["version"] == 1
    names = [digest(e["config"]) if first else TrialConfig.from_dict(e["config"]).id for e in content["trials"]]
    found = {f"trial {name}": sha256(e) for name, e in zip(names, content["trials"], strict=True)}
    found |= {f"sweep {digest(s['content'])}": sha256(s) for s in content["sweeps"]}
    found |= {f"environment {key}": sha256(facts) for key, facts in content["environments"].items()}
    found |= {f"patch {key}": sha256(text) for key, text in content.get("patches", {}).items()}
    for record in sorted(found.keys() | file["hashes"].keys()):
        if found.get(record) != file["hashes"].get(record):
            raise ValueError(f"{record} has not the hash that the bundle says")
    if sha256(found) != file["name"]:
        raise ValueError("the bundle's name is not the hash of its records")


def _by_column(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a content of the third version in the present form."""
    trials = [{**{k: v for k, v in e.items() if k != "points"}, "curve": _curve(e)} for e in content["trials"]]
    return {**content, "trials": trials}


def _curve(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a trial's epochs by column.

    Raises:
        ValueError: An epoch is missing, or of another trial.
    """
    points, trial = [Point(**point) for point in entry["points"]], entry["run"]["trial"]
    if [(p.trial, p.epoch) for p in points] != [(trial, epoch) for epoch in range(1, len(points) + 1)]:
        raise ValueError(f"trial {trial} has a curve with missing or repeated epochs, or of another trial")
    return Curve.of(points).model_dump()


def _retold(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a content of the second version in the form of the third."""
    return {**content, "trials": [{**e, "about": _about(e["about"])} for e in content["trials"]]}


def _about(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return what explained a row, which told no recipe, in the form of the third version."""
    return {"version": 1, **{name: told for name, told in about.items() if name != "published"}}


def _content(old: Mapping[str, Any]) -> dict[str, Any]:
    """Return a content of the first version in the form of the third."""
    order = {trial: k for k, trial in enumerate(t for sweep in old["sweeps"] for t in sweep["trials"])}
    entries = sorted(old["trials"], key=lambda e: order.get(digest(e["config"]), len(order)))
    configs = legacy.carried([e["config"] for e in entries])
    names = {digest(e["config"]): c.id for e, c in zip(entries, configs, strict=True)}
    moved = {key: {k: v for k, v in facts.items() if k not in OWN} for key, facts in old["environments"].items()}
    places = {key: digest(facts) for key, facts in moved.items() if "patch" not in facts}
    trials = [_trial(e, c, names, old["environments"], places) for e, c in zip(entries, configs, strict=True)]
    sweeps = [{**s, "trials": [names.get(t, t) for t in s["trials"]]} for s in old["sweeps"]]
    return {
        "trials": sorted(trials, key=lambda e: str(e["run"]["trial"])),
        "sweeps": sweeps,
        "environments": {places[key]: facts for key, facts in sorted(moved.items()) if key in places},
        "patches": {key: facts["patch"] for key, facts in sorted(moved.items()) if key not in places},
    }


def _trial(
    old: Mapping[str, Any],
    config: TrialConfig,
    names: Mapping[str, str],
    environments: Mapping[str, Mapping[str, str]],
    places: Mapping[str, str],
) -> dict[str, Any]:
    """Return one trial of it in the form of the third."""
    run = {k: v for k, v in old["run"].items() if k != "environment"}
    return {
        **old,
        "config": config.to_dict(),
        "about": _about(old["about"]),
        "run": {**run, "trial": names.get(run["trial"], run["trial"])},
        "points": [{**point, "trial": names.get(point["trial"], point["trial"])} for point in old["points"]],
        "place": places.get(old["place"], old["place"]),
        "rerun": environments.get(old["place"], {}).get("rerun", ""),
    }


Content = Mapping[str, Any]
CARRIED: Mapping[int, Callable[[Content], Content]] = {1: _content, 2: _retold, 3: lambda content: content}
"""From the content of each version to that of the third."""
