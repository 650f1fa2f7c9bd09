"""A picture of Vega's as a file to ship: a third of the bytes, in the reader's theme, the same to the eye."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

THEME = (
    "<style>svg{background:#fff;color:#1b2129}"
    "@media(prefers-color-scheme:dark){svg{background:#14181d;color:#e6eaef}}</style>"
)
"""Ground and ink of a page, light and dark: a file stands on its own ground, so it can be read on any page."""
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no place for."""
TAG = re.compile(r"<[^>]*>")
NUMBER = re.compile(r"-?\d+\.\d{2,}")
IDLE = re.compile(
    r' (?:class|aria-[a-z]+|role|pointer-events|xmlns:xlink|version|text-anchor="start"|opacity="1"|stroke-width="0")'
    r'(?:(?<=")|="[^"]*")'
)
"""Attributes that nothing here reads, or that say what holds without them."""
EMPTY = re.compile(r'<path[^>]*(?: d=""| d="M0,0h0v0h0Z"| display="none")[^>]*/>')
GROUP = re.compile(r"<g>((?:(?!</?g\b).)*)</g>", re.DOTALL)
MARK = re.compile(r'<(path|line) transform="translate\(([^,()]+),([^()]+)\)"([^>]*)/>')
FACE = re.compile(r' font-family="[^"]*" font-size="[^"]*"')
OFTEN = 3
"""A mark that stands so often is defined once."""


def compact_svg(svg: str) -> str:
    """Return a picture without what is never seen: numbers with one decimal, each mark defined once."""
    svg = EMPTY.sub("", TAG.sub(_shorten_tag, svg))
    changes = 1
    while changes:
        svg, changes = GROUP.subn(r"\1", svg)
    count = Counter((kind, rest) for kind, _, _, rest in MARK.findall(svg))
    names = {mark: f"s{k}" for k, mark in enumerate(mark for mark, often in count.items() if often >= OFTEN)}

    def used(match: re.Match[str]) -> str:
        kind, x, y, rest = match.groups()
        return f'<use href="#{names[kind, rest]}" x="{x}" y="{y}"/>' if (kind, rest) in names else match[0]

    defined = "".join(f'<{kind} id="{name}"{rest}/>' for (kind, rest), name in names.items())
    face = next(iter(Counter(FACE.findall(svg)).most_common(1)), ("", 0))[0]
    head, end, body = MARK.sub(used, svg).partition(">")
    body = body.replace(face, "") if face else body
    return f"{head}{face}{end}{THEME}{f'<defs>{defined}</defs>' if defined else ''}{body}"


def escape_text(text: str) -> str:
    """Return any text for an element or an attribute of SVG, where it starts no element and no entity."""
    return html.escape(FORBIDDEN.sub("\ufffd", text))


def to_json(content: Any) -> Any:
    """Return JSON data whose texts XML can hold: vl_convert ends the process where it cannot."""
    if isinstance(content, str):
        return FORBIDDEN.sub("\ufffd", content)
    if isinstance(content, Mapping):
        return {to_json(name): to_json(value) for name, value in content.items()}
    return [to_json(value) for value in content] if isinstance(content, list | tuple) else content


def _shorten_tag(match: re.Match[str]) -> str:
    """Return an element's head with short numbers and without idle attributes; text between elements is not touched."""
    return NUMBER.sub(lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), IDLE.sub("", match[0]))
