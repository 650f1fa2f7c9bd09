"""Text without passwords: the one place that knows what a secret looks like. What is said or kept goes through it."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

HIDDEN = "***"
"""What stands where a secret stood."""
SCHEMES = "https?|wss?|ftps?|s3|gs|postgres(?:ql)?|sqlite|mysql|mariadb|mssql|oracle|databricks|file|redis|ray"
KEYS = r"password|passwd|pwd|passphrase|passfile|token|secret|credentials?|signature|api[_-]?key|access[_-]?key"
URL = re.compile(rf"[a-z][a-z0-9+.-]{{0,31}}://|(?<![\w+.-])(?:{SCHEMES})(?:\+\w+)?:/*(?=\S)", re.IGNORECASE)
"""Where a URL starts, also one whose slashes are missing. No scheme is longer, and the search stays linear."""
NEXT = re.compile(rf"""(?<=[\s"'`(\[<,;])(?:{SCHEMES})(?:\+\w+)?://""", re.IGNORECASE)
"""Where a further one starts: a password may hold anything, but hardly white space and the name of a scheme."""
NOBODY = re.compile(r"(?:sqlite|file)(?:\+\w+)?:///", re.IGNORECASE)
"""Starts of URLs that name a file and never a user."""
CLEAN = re.compile(
    r"""(?:\[[0-9a-f:.]*\]|[^\s/:@?#"'`]*)(?::\d*)?(?=$|[\s/?#"'`)\]}>]|[:.,;](?:\s|$))""", re.IGNORECASE
)
"""A host, perhaps with a port: what follows ``://`` where there is no user. Anything else may be a password cut off."""
WORD = re.compile(r"""[^\s"'`]++""")
USER = re.compile(r"(?<![^@:/])[^@:/]*+:(?!/*\*\*\*@)")
"""Starts of ``user:password@`` without a scheme, in a word."""
VALUE = r"""(?:"(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.|'')*+'?|(?!\*\*\*)[^&]*?(?=&|(?<!\s)\s++[\w.-]++\s*+=|$))"""
PARAMETER = re.compile(rf"(?<![a-z])((?:ssl)?(?:{KEYS})\s*+=\s*)({VALUE})", re.IGNORECASE | re.DOTALL)
"""``password=...`` as in a query or in libpq's strings; without quotes a value ends at & or before the next key."""
ENTRY = re.compile(
    rf"""(["'](?:\w+[_-])?(?:{KEYS})["']\s*+:\s*+)("(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?)""", re.IGNORECASE
)
HEADER = re.compile(r"(\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}", re.IGNORECASE)
QUOTED = r"""(?:"(?:[^"\\]|\\.)++"?|'(?:[^'\\]|\\.)++'?)"""
IN_CODE = (
    re.compile(r"""([a-z][a-z0-9+.-]{0,31}://)(?!\*\*\*@)[^\s"'`]{1,256}@""", re.IGNORECASE),
    re.compile(rf"""(?<![a-z])((?:{KEYS})\s*+=\s*+)(?!["']\*\*\*["']){QUOTED}""", re.IGNORECASE),
    re.compile(rf"""([?&](?:{KEYS})=)(?!\*\*\*)[^&\s"'`]+""", re.IGNORECASE),
)
"""Secrets in a line of code, where ``token = next(tokens)`` is none and ``x[:, 0]@w`` names no user."""
KEY = re.compile(rf"(?:\w+[_-])?(?:{KEYS})", re.IGNORECASE)
"""Names of entries whose text is a secret whatever it looks like."""
SHORT = 256
"""Characters of texts in documents that are looked at once: most stand there many times."""
LEAST = 3
"""Characters of a part of a password from which on it is looked for by itself."""


def redacted(text: str, url: str = "") -> str:
    """Return ``text`` without users and passwords of URLs, and without the values of secret parameters.

    What may be a secret counts as one: where a URL was written with an unescaped @, everything before its last @ is
    left out. What has been redacted stays as it is.

    Args:
        text: Anything, such as an error's message or a URL.
        url: One that the text is about. Parts of its password are left out wherever they stand: libraries that
            misread a malformed URL complain about such parts.
    """
    for part in _password_parts(url):
        text = text.replace(part, HIDDEN)
    text = "".join(_split_at_urls(text))
    text = WORD.sub(_without_user, text) if "@" in text else text
    for pattern in (PARAMETER, ENTRY):
        text = pattern.sub(rf"\g<1>{HIDDEN}", text)
    return HEADER.sub(rf"\g<1>{HIDDEN}", text)


@lru_cache(8)
def redact_code(text: str) -> str:
    """Return code, or a patch of it, without passwords in URLs and in quotes; all else stays, so that it still runs."""
    return "\n".join(_redact_line(line) for line in text.split("\n"))


def redact_document(document: Any) -> Any:
    """Return a JSON document without what ``redacted`` leaves out of its texts; mappings and sequences are new ones."""
    if isinstance(document, str):
        return _redact_short(document) if len(document) <= SHORT else redacted(document)
    if isinstance(document, Mapping):
        return {
            redact_document(name): HIDDEN if _names_secret(name, part) else redact_document(part)
            for name, part in document.items()
        }
    return [redact_document(part) for part in document] if isinstance(document, list | tuple) else document


def find_secrets(document: Any, key: str = "") -> Iterator[str]:
    """Yield the places of a JSON document that ``redact_document`` would change, as ``run.reason``: no text of them."""
    if isinstance(document, Mapping):
        for name, part in document.items():
            shown = redact_document(name)
            inner = f"{key}.{shown}" if key else str(shown)
            if shown != name or _names_secret(name, part):
                yield inner
            else:
                yield from find_secrets(part, inner)
    elif isinstance(document, list | tuple):
        for k, part in enumerate(document):
            yield from find_secrets(part, f"{key}.{k}")
    elif isinstance(document, str) and redact_document(document) != document:
        yield key


def make_logger(name: str) -> logging.Logger:
    """Return the logger ``name``, whose messages are redacted."""
    logger = logging.getLogger(name)
    logger.addFilter(_redact_record)
    return logger


def _redact_record(record: logging.LogRecord) -> bool:
    record.msg, record.args = redacted(record.getMessage()), ()
    return True


def _redact_line(line: str) -> str:
    for pattern in (*IN_CODE, ENTRY):
        line = pattern.sub(rf"\g<1>{HIDDEN}@" if pattern is IN_CODE[0] else _hide_in_quotes, line)
    return line


def _hide_in_quotes(match: re.Match[str]) -> str:
    """Return a match with its value hidden, in the quotes that it stands in."""
    value = match[0][len(match[1]) :]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{match[1]}{quote}{HIDDEN}{quote}"


@lru_cache(2**14)
def _redact_short(text: str) -> str:
    return redacted(text)


def _names_secret(name: Any, value: Any) -> bool:
    """Return whether an entry is a secret by its name."""
    return isinstance(name, str) and isinstance(value, str) and value not in ("", HIDDEN) and bool(KEY.fullmatch(name))


def _without_user(word: re.Match[str]) -> str:
    """Return a word without ``user:password`` before its last @."""
    text = word[0]
    at = text.rfind("@")
    user = USER.search(text, 0, at + 1) if at > 0 else None
    return f"{text[: user.start()]}{HIDDEN}{text[at:]}" if user else text


def _split_at_urls(text: str) -> list[str]:
    """Return the text cut before each URL, these without their users."""
    pieces, at = [], 0
    while match := URL.search(text, at):
        pieces.append(text[at : match.end()])
        following = NEXT.search(text, match.end())
        rest = text[match.end() : following.start() if following else len(text)]
        if following and not _is_url(match[0], rest):  # a password that looks like another URL
            rest = text[match.end() :]
        pieces.append(_remove_user(match[0], rest))
        at = match.end() + len(rest)
    return [*pieces, text[at:]]


def _is_url(start: str, rest: str) -> bool:
    return bool("@" in rest or NOBODY.match(start + rest) or CLEAN.match(rest))


def _remove_user(start: str, rest: str) -> str:
    """Return what follows a URL's ``start`` without the user in it."""
    if rest.startswith(f"{HIDDEN}@") or rest == HIDDEN or NOBODY.match(start + rest):
        return rest
    user, _, host = rest.rpartition("@")
    if user or rest.startswith("@"):
        return f"{HIDDEN}@{host}"
    return rest if CLEAN.match(rest) else HIDDEN


def _password_parts(url: str) -> list[str]:
    """Return the password of a URL, and what is left of it where it is cut at a separator; the longest first."""
    start = URL.search(url)
    if not start or NOBODY.match(url, start.start()):
        return []
    user = url[start.end() :].rpartition("@")[0]
    secrets = [user.partition(":")[2], *(match[2].strip("'\"") for match in PARAMETER.finditer(url))]
    secrets += [unquote(secret) for secret in secrets]
    cut = [part for secret in secrets for part in re.split(r"[@:/?#&=\s\\'\"\[\]]+", secret)]
    return sorted({part for part in (*secrets, *cut) if len(part) >= LEAST and part != HIDDEN}, key=len, reverse=True)
