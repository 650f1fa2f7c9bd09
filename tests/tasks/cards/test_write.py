"""A card, or a sweep's settings, as TOML, read back by Python's own reader."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from longwave.tasks.cards.write import to_toml

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
PLAIN = TEXT | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.booleans()
VALUE = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8
)


@given(st.dictionaries(TEXT, VALUE, max_size=4))
def test_what_is_written_is_read_back_with_tables_last_and_tables_in_these(content: dict[str, Any]) -> None:
    tables = {name: value for name, value in content.items() if isinstance(value, dict)}
    plain = {name: value for name, value in content.items() if name not in tables}
    assert repr(tomllib.loads(to_toml(content))) == repr({**plain, **tables})  # repr: nan is equal to nothing
