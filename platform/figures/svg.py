"""Compact Vega's SVG for shipping: a third of the bytes, in the reader's theme, visually identical."""

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
"""Background and text colours, light and dark: with its own background a file is legible on any page."""
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow."""
TAG = re.compile(r"<[^>]*>")
NUMBER = re.compile(r'((?:offset|opacity)=")?(-?\d+\.\d{2,})')
"""A number with more than one decimal; the name of its attribute before it, if its values lie between 0 and 1."""
IDLE = re.compile(
    r' (?:class|aria-[a-z]+|role|pointer-events|xmlns:xlink|version|text-anchor="start"|opacity="1"|stroke-width="0")'
    r'(?:(?<=")|="[^"]*")'
)
"""Attributes that are unused, or have their default value."""
EMPTY = re.compile(r'<path[^>]*(?: d=""| d="M0,0h0v0h0Z"| display="none")[^>]*/>')
GROUP = re.compile(r"<g>((?:(?!</?g\b).)*)</g>", re.DOTALL)
MARK = re.compile(r'<(path|line) transform="translate\(([^,()]+),([^()]+)\)"([^>]*)/>')
FACE = re.compile(r' font-family="[^"]*" font-size="[^"]*"')
OFTEN = 3
"""Marks that occur at least this often are defined once."""


def compact_svg(svg: str) -> str:
    """Return an SVG without invisible parts, with one decimal per coordinate, and repeated marks defined once."""
    svg = EMPTY.sub("", TAG.sub(_shorten_tag, svg))
    changes = 1
    while changes:
        svg, changes = GROUP.subn(r"\1", svg)
    count = Counter((kind, attributes) for kind, _, _, attributes in MARK.findall(svg))
    names = {mark: f"s{k}" for k, mark in enumerate(mark for mark, times in count.items() if times >= OFTEN)}

    def use_element(match: re.Match[str]) -> str:
        kind, x, y, attributes = match.groups()
        return f'<use href="#{names[kind, attributes]}" x="{x}" y="{y}"/>' if (kind, attributes) in names else match[0]

    defined = "".join(f'<{kind} id="{name}"{attributes}/>' for (kind, attributes), name in names.items())
    font = next(iter(Counter(FACE.findall(svg)).most_common(1)), ("", 0))[0]
    head, end, body = MARK.sub(use_element, svg).partition(">")
    body = body.replace(font, "") if font else body
    return f"{head}{font}{end}{THEME}{f'<defs>{defined}</defs>' if defined else ''}{body}"


def escape_text(text: str) -> str:
    """Return a text escaped for an element or an attribute of SVG."""
    return html.escape(FORBIDDEN.sub("\ufffd", text))


def to_json(content: Any) -> Any:
    """Return JSON data without characters that XML does not allow, which make vl_convert abort the process."""
    if isinstance(content, str):
        return FORBIDDEN.sub("\ufffd", content)
    if isinstance(content, Mapping):
        return {to_json(name): to_json(value) for name, value in content.items()}
    return [to_json(value) for value in content] if isinstance(content, list | tuple) else content


def _shorten_tag(match: re.Match[str]) -> str:
    """Return a tag with short numbers and without unused attributes; text between tags is unchanged."""
    return NUMBER.sub(_shorten_number, IDLE.sub("", match[0]))


def _shorten_number(match: re.Match[str]) -> str:
    """Return a number with one decimal; with three if it is a share, of a colour bar's length or of full opacity."""
    name, number = match.groups(default="")
    return name + f"{float(number):.{3 if name else 1}f}".rstrip("0").removesuffix(".")
