"""Foreign texts, such as the errors of any library, in a form that every database can store."""

from __future__ import annotations

import re
from dataclasses import replace

from longwave.platform.records.identity import digest
from longwave.platform.records.run import Run

UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""NUL, which PostgreSQL refuses, and halves of characters, as of file names that are not UTF-8."""
SHOWN = 20
"""Characters shown before one that is refused."""


def escape_unstorable(text: str) -> str:
    """Return text with what a database refuses as Python writes it: ``\\x00``, ``\\udce9``."""
    return UNSTORABLE.sub(lambda match: ascii(match[0])[1:-1], text)


def clean_run(run: Run) -> Run:
    """Return the run for a store: without passwords, and without what a database refuses."""
    run = run.without_secrets()
    facts = {escape_unstorable(name): escape_unstorable(fact) for name, fact in run.environment.items()}
    patch = escape_unstorable(run.patch)
    facts |= {"diff": digest({"patch": patch})} if patch != run.patch else {}
    return replace(run, reason=escape_unstorable(run.reason), environment=facts, patch=patch)


def describe_unstorable(error: UnicodeEncodeError) -> str:
    """Return one line about a text that was to be stored or looked up, and cannot be."""
    text = error.object[max(0, error.start - SHOWN) : error.end]
    return f"No store can contain the text {text!a}: its last character is half of one. Leave it out."
