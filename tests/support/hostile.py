"""Hostile texts that a terminal, a spreadsheet, LaTeX, Markdown or a browser would act on, and hostile file names."""

from __future__ import annotations

from itertools import product

CONTROLS = (
    "\x1b[2J", "\x1b]8;;http://x\x07", "\x1b]0;t\x07", "\x9b31m", "\x00", "\x07", "\x08\x08", "\r", "\x7f",
    "\x1bP+q\x1b\\", "\u202e", "\u2066", "\u200f", "\u061c", "\u200b", "\ufeff", "\u2028", "\u2029", "\U000e0041",
    "\x85",
)  # fmt: skip
FORMULAS = (
    "=1+1", "=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(1)", "\t=1+1", "\r=1+1", ' =HYPERLINK("http://x")', "＝1+1",
    "=IMPORTXML(CONCAT(1))", "-2+3+cmd|' /C calc'!A0", "@import",
)  # fmt: skip
MARKUP = (
    "<script>fired()</script>", "<img src=x onerror=fired()>", "</script><script>fired()</script>", "a|b|c", "`<b>`",
    "<svg/onload=fired()>", "[x](javascript:fired())", "![x](http://x/y)", "<javascript:fired()>", "\\<b>x</b>",
    "[red]x[/red]", "[link=http://x]y[/link]", "&lt;b&gt;", "'\" onmouseover=fired()", "${fired()}", "{{fired()}}",
    "<iframe srcdoc='<script>fired()</script>'>", "<style>*{display:none}</style>", "[x]: javascript:fired()", "<!--",
    "]]>",
)  # fmt: skip
LATEX = (
    "\\input{/etc/passwd}",
    "\\write18{id}",
    "$x",
    "%x",
    "a_b^c",
    "#1",
    "~",
    "\\\\",
    "{",
    "}",
    "&",
    "\\end{tabular}",
)
SINGLE = (*CONTROLS, *FORMULAS, *MARKUP, *LATEX)
DOUBLE = [*product(SINGLE, ("x", "\n")), *product(CONTROLS[:6], (*MARKUP, *FORMULAS))]
TEXTS = tuple(dict.fromkeys([*SINGLE, *(a + b for a, b in DOUBLE)]))[:300]
"""All different."""
STEPS = (
    "..", "%2e%2e", "%252e%252e", "..\\..", "..%5c..", "．．", "~root", "C:", "C:x", "\\\\host\\share", "//host/share",
    "/etc", "\\etc", "file:///etc", "aux", "CON", "nul.txt", "com1.gz", "LPT9", "a\0b", "a\nb", "a:b", "\udcff",
)  # fmt: skip
ENDS = ("/evil", "\\evil", "", "/../evil", "%2fevil", "/x/../../evil", " /evil", "./evil", "//evil")
NAMES = tuple(dict.fromkeys(step + end for step, end in product(STEPS, ENDS)))
"""As in the lists of CVEs of archives and of MLflow: they leave a folder, on some system or once decoded."""
