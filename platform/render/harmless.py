"""Escape foreign text for each kind of output: names, reasons and facts may come from any bundle."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

HIDDEN_KINDS = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories of invisible characters with effects: controls, format characters such as direction marks,
surrogates, separators of lines and paragraphs."""
SUSPECT = re.compile(r"[^\n -~\u00a1-\u00ac\u00ae-\u05ff\u2010-\u2027\u2030-\u205e\u2070-\u22ff]")
"""Candidates for these categories; most texts contain none."""
FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20](?=\s*\S)|[\t\r]")
"""Beginnings of cells that a spreadsheet evaluates (OWASP, CSV Injection), including full-width characters."""
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
    "∞": r"$\infty$",
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
"""LaTeX for characters that are special there, or missing in its fonts."""


def escape_invisible(text: str) -> str:
    """Return text for a terminal: invisible characters are escaped, as ``\\x1b``; line breaks are kept."""
    return SUSPECT.sub(_escape, text)


def one_line(text: str) -> str:
    """Return text for one line of a terminal: as ``escape_invisible``, with line breaks escaped too."""
    return escape_invisible(text).replace("\n", "\\n")


def in_csv(text: str) -> str:
    """Return text for a CSV cell: formulas get a leading apostrophe, so that no spreadsheet evaluates them."""
    is_formula = FORMULA.match(text) and not NUMBER.fullmatch(text)
    return f"'{escape_invisible(text)}" if is_formula else escape_invisible(text)


def in_markdown(text: str) -> str:
    """Return text for one line of Markdown, escaped so that it starts no cell, HTML, link or image."""
    escaped = re.sub(r"[\\|`]|<(?=[A-Za-z/!?])", r"\\\g<0>", escape_invisible(text))
    return re.sub(r"\](?=[(\[:])", r"\]", escaped).replace("\n", " ")


def in_streamlit(text: str) -> str:
    """Return text for Streamlit's Markdown: as ``in_markdown``, also without emphasis, formula, icon or colour."""
    return re.sub(r"[*$~]|:(?=[A-Za-z])", r"\\\g<0>", in_markdown(text))


def in_latex(text: str) -> str:
    """Return text for LaTeX, in one line and without commands."""
    latex = "".join(LATEX.get(sign, sign) for sign in escape_invisible(text).replace("\n", " "))
    return latex.replace("}$$^{", "")  # digits of one exponent


def in_json(text: str) -> str:
    """Return equivalent JSON that is safe on a terminal: invisible characters are JSON escapes."""
    return SUSPECT.sub(lambda match: _escape(match, json=True), text)


def in_html(text: str) -> str:
    """Return text escaped for HTML."""
    return html.escape(escape_invisible(text))


def all_visible(content: Any) -> Any:
    """Return JSON data with all texts and keys as from ``escape_invisible``."""
    if isinstance(content, str):
        return escape_invisible(content)
    if isinstance(content, Mapping):
        return {escape_invisible(str(name)): all_visible(value) for name, value in content.items()}
    return [all_visible(value) for value in content] if isinstance(content, list | tuple) else content


def _escape(match: re.Match[str], json: bool = False) -> str:
    """Return a visible character unchanged, and an invisible one as Python's or JSON's escape."""
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
