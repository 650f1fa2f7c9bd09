"""Removal of passwords from texts. Everything that is printed or stored passes through this module."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

HIDDEN = "***"
"""Replacement of a secret."""
SCHEMES = "https?|wss?|ftps?|s3|gs|postgres(?:ql)?|sqlite|mysql|mariadb|mssql|oracle|databricks|file|redis|ray"
PRIVATE_KEYS = r"(?:api|access|account|private|secret|shared[_-]?access)[_-]?key"
WORDS = rf"password|passwd|pwd|passphrase|secret|{PRIVATE_KEYS}"
"""Names of secrets that mean nothing else, so that a colon after one is followed by the secret."""
KEYS = rf"{WORDS}|passfile|token|credentials?|(?:shared[_-]?access[_-]?)?signature"
URL = re.compile(rf"[a-z][a-z0-9+.-]{{0,31}}://|(?<![\w+.-])(?:{SCHEMES})(?:\+\w+)?:/*(?=\S)", re.IGNORECASE)
"""Matches the start of a URL, even without slashes. The bounded scheme keeps the search linear."""
NEXT = re.compile(rf"""(?<=[\s"'`(\[<,;])(?:{SCHEMES})(?:\+\w+)?://""", re.IGNORECASE)
"""Matches the start of a further URL: a password hardly contains white space followed by a scheme."""
NOBODY = re.compile(r"(?:sqlite|file)(?:\+\w+)?:///", re.IGNORECASE)
"""Matches the start of URLs of files, which have no user."""
CLEAN = re.compile(
    r"""(?:\[[0-9a-f:.]*\]|[^\s/:@?#"'`]*)(?::\d*)?(?=$|[\s/?#"'`)\]}>]|[:.,;](?:\s|$))""", re.IGNORECASE
)
"""Matches a host with optional port, as after ``://`` without a user. Anything else may be a truncated password."""
WORD = re.compile(r"""[^\s"'`]++""")
USER = re.compile(r"(?<![^@:/])[^@:/]*+:(?!/*\*\*\*@)")
"""Matches the start of ``user:password@`` without a scheme, in a word."""
VALUE = r"""(?:"(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.|'')*+'?|(?!\*\*\*)[^&]*?(?=&|(?<!\s)\s++[\w.-]++\s*+=|$))"""
PARAMETER = re.compile(rf"""((?:{KEYS})["']?\]?\s*+=\s*+)({VALUE})""", re.IGNORECASE | re.DOTALL)
"""Matches ``password=...`` in a query or a libpq string, and ``environ['PASSWORD'] = ...``. An unquoted value ends at &
or before the next key."""
QUERY = re.compile(rf"""([?&](?:{KEYS}|pass|sig|auth|key)=)(?!\*\*\*)[^&\s"'`]++""", re.IGNORECASE)
"""Matches secrets in a query, in texts and in code; the last four names are secret there alone."""
TEXT = r"""(?:"(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?)"""
LABEL = re.compile(
    rf"""((?:{WORDS}|\bx-[\w-]*?(?:{KEYS})):[ \t]*+|--[\w-]*?(?:{KEYS})[ \t]++"""
    r"""|\bauthorization:[ \t]++(?:(?:basic|bearer|token)[ \t]++)?+)"""
    rf"""(?!["']?(?:\*\*\*|-))(?:{TEXT}|[^\s"'`,;&]++)""",
    re.IGNORECASE,
)
"""Matches ``password: ...``, ``--password ...`` and the headers ``X-Auth-Token: ...`` and ``Authorization: ...``."""
ENTRY = re.compile(
    rf"""(["'][\w-]*?(?:{KEYS}|authorization)\\*+["']\s*+:\s*+b?\\*+)(?!["']\*\*\*)({TEXT})""", re.IGNORECASE
)
"""Matches an entry of JSON or of Python, also one whose quotes are escaped in another text."""
HEADER = re.compile(r"(\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}", re.IGNORECASE)
QUOTED = r"""(?:\"{3}(?:(?!\"{3}).)++(?:\"{3})?|'{3}(?:(?!'{3}).)++(?:'{3})?|"(?:[^"\\]|\\.)++"?|'(?:[^'\\]|\\.)++'?)"""
IN_CODE = (
    re.compile(r"""([a-z][a-z0-9+.-]{0,31}://)(?!\*\*\*@)[^\s"'`]{1,256}@""", re.IGNORECASE),
    re.compile(
        rf"""((?:{KEYS})["']?\]?(?:\s*+:[\w.\[\]|, ]{{1,60}}?)?\s*+=\s*+[bfru]{{0,2}})(?!["']+\*\*\*["']){QUOTED}""",
        re.IGNORECASE,
    ),
    re.compile(
        r"""(\bauthorization["']?\]?\s*+[=:,]\s*+["']?(?:basic|bearer|token)\s++)[\w.~+/=-]{6,}""", re.IGNORECASE
    ),
    QUERY,
)
"""Match secrets in a line of code, but not ``token = next(tokens)`` or ``x[:, 0]@w``."""
KEY = re.compile(rf"[\w-]*(?:{KEYS})", re.IGNORECASE)
"""Matches names of entries whose value is always a secret."""
SHORT = 256
"""Maximal length of texts in documents whose result is cached, because most occur many times."""
LEAST = 3
"""Fewest characters of a part of a password that is removed by itself."""


def redacted(text: str, url: str = "") -> str:
    """Return ``text`` without users and passwords of URLs, and without the values of secret parameters.

    What has a form in which libraries print secrets counts as one: if a URL contains an unescaped @, everything before
    its last @ is removed. A password in prose, ``the password is x``, is not found. Redacted texts are not changed
    again.

    Args:
        text: Any text, such as an error message or a URL.
        url: A URL that the text is about. Parts of its password are removed everywhere, because libraries that misread
            a malformed URL quote such parts.
    """
    for part in _password_parts(url):
        text = text.replace(part, HIDDEN)
    text = "".join(_split_at_urls(text))
    text = WORD.sub(_without_user, text) if "@" in text else text
    for pattern in (PARAMETER, ENTRY, QUERY, LABEL):
        text = pattern.sub(rf"\g<1>{HIDDEN}", text)
    return HEADER.sub(rf"\g<1>{HIDDEN}", text)


@lru_cache(8)
def redact_code(text: str) -> str:
    """Return code, or a patch, without passwords in URLs and in quotes; everything else is unchanged, so it still
    runs."""
    return "\n".join(_redact_line(line) for line in text.split("\n"))


def redact_document(document: Any) -> Any:
    """Return a copy of a JSON document with all its texts ``redacted``."""
    if isinstance(document, str):
        return _redact_short(document) if len(document) <= SHORT else redacted(document)
    if isinstance(document, Mapping):
        return {
            redact_document(name): HIDDEN if _names_secret(name, part) else redact_document(part)
            for name, part in document.items()
        }
    return [redact_document(part) for part in document] if isinstance(document, list | tuple) else document


def find_secrets(document: Any, key: str = "") -> Iterator[str]:
    """Yield the paths in a JSON document that ``redact_document`` would change, such as ``run.reason``, without
    texts."""
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
    """Return a match with its value hidden and its quotes kept."""
    value = match[0][len(match[1]) :]
    quote = re.match(r"""\"{3}|'{3}|["']|""", value)[0]  # type: ignore[index]
    return f"{match[1]}{quote}{HIDDEN}{quote}"


@lru_cache(2**14)
def _redact_short(text: str) -> str:
    return redacted(text)


def _names_secret(name: Any, value: Any) -> bool:
    """Return whether an entry's name marks its value as a secret."""
    return isinstance(name, str) and isinstance(value, str) and value not in ("", HIDDEN) and bool(KEY.fullmatch(name))


def _without_user(word: re.Match[str]) -> str:
    """Return a word without ``user:password`` before its last @."""
    text = word[0]
    at = text.rfind("@")
    user = USER.search(text, 0, at + 1) if at > 0 else None
    return f"{text[: user.start()]}{HIDDEN}{text[at:]}" if user else text


def _split_at_urls(text: str) -> list[str]:
    """Return the text split before each URL, with users removed from URLs."""
    pieces, position = [], 0
    while match := URL.search(text, position):
        pieces.append(text[position : match.end()])
        following = NEXT.search(text, match.end())
        remainder = text[match.end() : following.start() if following else len(text)]
        if following and not _is_url(match[0], remainder):  # a password that looks like another URL
            remainder = text[match.end() :]
        pieces.append(_remove_user(match[0], remainder))
        position = match.end() + len(remainder)
    return [*pieces, text[position:]]


def _is_url(start: str, remainder: str) -> bool:
    return bool("@" in remainder or NOBODY.match(start + remainder) or CLEAN.match(remainder))


def _remove_user(start: str, remainder: str) -> str:
    """Return the text after a URL's ``start`` without the user in it."""
    if remainder.startswith(f"{HIDDEN}@") or remainder == HIDDEN or NOBODY.match(start + remainder):
        return remainder
    user, _, host = remainder.rpartition("@")
    if user or remainder.startswith("@"):
        return f"{HIDDEN}@{host}"
    return remainder if CLEAN.match(remainder) else HIDDEN


def _password_parts(url: str) -> list[str]:
    """Return the password of a URL, and its parts between separators, longest first."""
    start = URL.search(url)
    if not start or NOBODY.match(url, start.start()):
        return []
    user = url[start.end() :].rpartition("@")[0]
    secrets = [user.partition(":")[2], *(match[2].strip("'\"") for match in PARAMETER.finditer(url))]
    secrets += [unquote(secret) for secret in secrets]
    cut = [part for secret in secrets for part in re.split(r"[@:/?#&=\s\\'\"\[\]]+", secret)]
    return sorted({part for part in (*secrets, *cut) if len(part) >= LEAST and part != HIDDEN}, key=len, reverse=True)
