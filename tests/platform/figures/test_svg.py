"""Pictures as files: small, in the reader's theme, and whatever stands in a name."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import vl_convert
from boards import printed, retrained
from hostile import TEXTS
from hypothesis import given
from hypothesis import strategies as some

from longwave.platform.boards.board import rows
from longwave.platform.figures.forest import forest
from longwave.platform.figures.svg import FORBIDDEN, compact_svg, escape_text

SVG = "{http://www.w3.org/2000/svg}"
BOARD = rows(
    [retrained(f"m{k}", [k + 1.0, k + 1.1, k + 1.4, k + 1.2, k + 1.3]) for k in range(6)], [printed("m0", 1.0)]
)
FOREST = forest(BOARD, [f"row {row.title} 0.123456" for row in BOARD], log=True)


def test_a_picture_is_less_than_half_of_what_vega_draws_and_shows_as_many_marks() -> None:
    drawn = vl_convert.vegalite_to_svg({**FOREST.spec(), "width": 480})
    small = FOREST.svg(480)
    assert len(small) < len(drawn) / 2
    marks = {kind: len(re.findall(rf'aria-roledescription="{kind}"', drawn)) for kind in ("point", "rule mark")}
    inner = ET.fromstring(small).find(f"{SVG}g")
    assert inner is not None
    assert len(inner.findall(f".//{SVG}use")) >= marks["point"] - 3, "all but those that stand less than three times"


def test_numbers_in_texts_keep_their_digits_and_those_of_lines_lose_theirs() -> None:
    path = '<g class="x"><path d="M1.23456,-7.0012h3.999" opacity="1"/><text>0.123456</text></g>'
    small = compact_svg(f'<svg width="9">{path}</svg>')
    assert 'd="M1.2,-7h4"' in small and ">0.123456<" in small
    assert "row M3 0.123456" in FOREST.svg()


def test_a_colour_bar_keeps_its_colours_and_a_mark_its_opacity() -> None:
    stops = "".join(f'<stop offset="{k / 12}" stop-color="#{k:06x}"></stop>' for k in range(13))
    small = compact_svg(f'<svg><linearGradient>{stops}</linearGradient><path d="M0,0h9" fill-opacity="0.25"/></svg>')
    offsets = [float(offset) for offset in re.findall(r'offset="([^"]*)"', small)]
    assert offsets == [round(k / 12, 3) for k in range(13)] and 'fill-opacity="0.25"' in small


def test_a_mark_that_stands_often_is_defined_once_and_stands_where_it_stood() -> None:
    dots = "".join(f'<path transform="translate({x},{2 * x})" d="M0,0h1" fill="red"/>' for x in range(3))
    picture = ET.fromstring(compact_svg(f'<svg xmlns="http://www.w3.org/2000/svg">{dots}</svg>'))
    assert [dict(use.attrib) for use in picture.iter(f"{SVG}use")] == [
        {"href": "#s0", "x": str(x), "y": str(2 * x)} for x in range(3)
    ]
    [defined] = picture.findall(f"{SVG}defs/{SVG}path")
    assert defined.attrib == {"id": "s0", "d": "M0,0h1", "fill": "red"}


def test_a_picture_has_ink_and_ground_of_its_own_in_light_and_dark() -> None:
    style = ET.fromstring(FOREST.svg()).findtext(f"{SVG}style") or ""
    assert "background" in style.split("@media")[0] and "prefers-color-scheme:dark" in style.split("@media")[1]


@given(some.one_of(some.sampled_from(TEXTS), some.text(some.characters(), max_size=30)))
def test_any_text_is_text_of_an_element_and_of_an_attribute(text: str) -> None:
    root = ET.fromstring(f'<svg a="{escape_text(text)}">{escape_text(text)}</svg>')
    assert len(root) == 0
    assert len(root.text or "") == len(text.replace("\r\n", "\n")) or "\r" in text


def texts(content: Any) -> Iterator[str]:
    """Yield all texts in JSON data."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict | list):
        for part in content.values() if isinstance(content, dict) else content:
            yield from texts(part)


def test_a_name_that_is_drawn_holds_nothing_that_xml_cannot_hold() -> None:
    """Asked of the specification first: such a name ends vl_convert's whole process."""
    name = "a\x00\x1b<script>\ufffe\udc00 & 1"
    assert not any(map(FORBIDDEN.search, texts(forest(BOARD[:1], [name], log=False).spec())))
    root = ET.fromstring(forest(BOARD[:1], [name], log=False).svg())
    assert "a\ufffd\ufffd<script>\ufffd\ufffd & 1" in [text.text for text in root.iter(f"{SVG}text")]
    assert not [tag for tag in root.iter() if tag.tag.endswith("script")]
