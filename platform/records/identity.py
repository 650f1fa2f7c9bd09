"""Names made of content: equal content, equal name, on every machine."""

from __future__ import annotations

import hashlib
import json


def canonical(content: object) -> str:
    """Return JSON that depends on the content alone, not on key order; what is not finite is a ValueError."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sha256(content: object) -> str:
    """Return the SHA-256 of the canonical JSON of ``content``, 64 hex digits."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def digest(content: object) -> str:
    """Return the first 16 digits of ``sha256``."""
    return sha256(content)[:16]


def derive_seed(*parts: object) -> int:
    """Return a seed in [0, 2³¹) that depends on ``parts`` alone; other parts give unrelated seeds."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4]) >> 1
