"""Foreign text made harmless, a function for each output. Names, reasons and facts may come from anybody's bundle."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

HIDDEN_KINDS = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's categories of what is not seen but acts: controls, format characters as those that turn the direction of
writing, halves of characters, separators of lines and of paragraphs."""
SUSPECT = re.compile(r"[^\n -~\u00a1-\u00ac\u00ae-\u05ff\u2010-\u2027\u2030-\u205e\u2070-\u22ff]")
"""What is looked up in these categories: most text holds none of it."""
FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r]")
"""Starts of cells that a spreadsheet computes (OWASP, CSV Injection), full-width signs among them."""
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*%?")

LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "–": "--",
    "—": "---",
    "−": "$-$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "×": r"$\times$",
    "†": r"$^\dagger$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≈": r"$\approx$",
    "<": "$<$",
    ">": "$>$",
    **{sign: f"$^{{{plain}}}$" for sign, plain in zip("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789", strict=True)},
    "η": r"$\eta$",
    "τ": r"$\tau$",
    "Δ": r"$\Delta$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "γ": r"$\gamma$",
    "ε": r"$\epsilon$",
    "σ": r"$\sigma$",
    "λ": r"$\lambda$",
    "π": r"$\pi$",
    "ω": r"$\omega$",
    "·": r"$\cdot$",
    "→": r"$\to$",
}
"""What stands in LaTeX for the characters that mean something there, or that its fonts lack."""


def escape_invisible(text: str) -> str:
    """Return text for a terminal: what is not seen but acts is written out, as ``\\x1b``; lines stay lines."""
    return SUSPECT.sub(_escape, text)


def one_line(text: str) -> str:
    """Return text for one line of a terminal: as ``escape_invisible``, ends of lines written out too."""
    return escape_invisible(text).replace("\n", "\\n")


def in_csv(text: str) -> str:
    """Return text for a cell of CSV: what a spreadsheet would compute begins with an apostrophe."""
    computes = FORMULA.match(text) and not NUMBER.fullmatch(text)
    return f"'{escape_invisible(text)}" if computes else escape_invisible(text)


def in_markdown(text: str) -> str:
    """Return text for one line of Markdown, where it starts no cell, no HTML, no link and no image."""
    escaped = re.sub(r"[\\|`]|<(?=[A-Za-z/!?])", r"\\\g<0>", escape_invisible(text))
    return re.sub(r"\](?=[(\[:])", r"\]", escaped).replace("\n", " ")


def in_streamlit(text: str) -> str:
    """Return text for Streamlit's Markdown: as ``in_markdown``, and no emphasis, formula, icon or colour."""
    return re.sub(r"[*$~]|:(?=[A-Za-z])", r"\\\g<0>", in_markdown(text))


def in_latex(text: str) -> str:
    """Return text as LaTeX prints it, in one line and without a command."""
    return "".join(LATEX.get(sign, sign) for sign in escape_invisible(text).replace("\n", " "))


def in_json(text: str) -> str:
    """Return JSON that reads the same and shows on a terminal: what acts there is written as JSON's own escapes."""
    return SUSPECT.sub(lambda match: _escape(match, json=True), text)


def in_html(text: str) -> str:
    """Return text for a page, where it starts no element and no entity."""
    return html.escape(escape_invisible(text))


def all_visible(content: Any) -> Any:
    """Return JSON data with texts as ``escape_invisible`` returns them, keys too."""
    if isinstance(content, str):
        return escape_invisible(content)
    if isinstance(content, Mapping):
        return {escape_invisible(str(name)): all_visible(value) for name, value in content.items()}
    return [all_visible(value) for value in content] if isinstance(content, list | tuple) else content


def _escape(match: re.Match[str], json: bool = False) -> str:
    """Return a character as it is, or as Python or JSON write it where it is not seen."""
    sign = match[0]
    if unicodedata.category(sign) not in HIDDEN_KINDS:
        return sign
    if json:
        return "".join(f"\\u{int.from_bytes(pair):04x}" for pair in _code_units(sign))
    return sign.encode("unicode_escape").decode("ascii")


def _code_units(sign: str) -> list[bytes]:
    """Return a character's code units in UTF-16."""
    units = sign.encode("utf-16-be", "surrogatepass")
    return [units[k : k + 2] for k in range(0, len(units), 2)]
