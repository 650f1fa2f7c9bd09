"""Hashes of content as names: equal content has equal names on every machine."""

from __future__ import annotations

import hashlib
import json
from dataclasses import MISSING, asdict, fields
from typing import Any


def canonical_json(content: object) -> str:
    """Return JSON independent of key order; raise ValueError for numbers that are not finite."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sha256(content: object) -> str:
    """Return the SHA-256 of the canonical JSON of ``content``, 64 hex digits."""
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()


def digest(content: object) -> str:
    """Return the first 16 digits of ``sha256``."""
    return sha256(content)[:16]


def derive_seed(*parts: object) -> int:
    """Return a seed in [0, 2³¹) that depends only on ``parts``; different parts give unrelated seeds."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4]) >> 1


def sparse_fields(record: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that differ from their defaults, so that new fields do not change old hashes."""
    content = asdict(record)
    for f in fields(record):
        default = f.default_factory() if f.default_factory is not MISSING else f.default
        if default is not MISSING and getattr(record, f.name) == default:
            del content[f.name]
    return content
