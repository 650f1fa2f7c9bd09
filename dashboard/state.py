"""State in the URL. Every picker writes to it: each view has a link, and Back undoes the last click.

Streamlit can also bind widgets to the URL, but it replaces the last history entry instead of adding one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import streamlit as st

from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.render.harmless import in_streamlit

Writer = Callable[[str], str]
Dependents = Mapping[str, Callable[[str], Collection[str]]]
"""Keys of pickers whose options depend on another one, each with a function from its choice to their options."""


def address_value(key: str) -> str:
    """Return the URL's value of ``key``, or an empty string."""
    return str(st.query_params.get(key, ""))


def address_list(key: str) -> list[str]:
    """Return the items of a list in the URL."""
    return [unquote(part) for part in address_value(key).split(",") if part]


def write_address(key: str, value: str | Iterable[str], usual: str = "") -> None:
    """Write a value or a list into the URL; defaults are left out."""
    text = value if isinstance(value, str) else _join(value)
    if text == usual:
        st.query_params.pop(key, None)
    elif text != address_value(key):
        st.query_params[key] = text


def _join(parts: Iterable[str]) -> str:
    """Return a list as one value of the URL; a comma in a part is escaped."""
    return ",".join(part.replace("%", "%25").replace(",", "%2C") for part in parts)


def draw_choice(
    label: str,
    key: str,
    options: Sequence[str],
    format_option: Writer = str,
    container: Any = st,
    dependents: Dependents | None = None,
    usual: str = "",
) -> str:
    """Draw a picker of one of ``options`` and return the choice: from the URL, else ``usual``, else the first.

    A new choice resets those ``dependents`` that do not have their present value among their new options.

    Raises:
        ConfigError: The URL has another value. The picker is drawn anyway.
    """
    usual = usual or options[0]
    current = address_value(key) or usual
    st.session_state[_widget_key(key)] = current if current in options else None
    container.selectbox(
        label, options, key=_widget_key(key), format_func=format_option, on_change=_write_choice,
        args=(key, usual, dependents),
    )  # fmt: skip
    if current not in options:
        raise ConfigError(did_you_mean(label.lower(), current, options))
    return current


def draw_buttons(label: str, key: str, options: Sequence[str], format_option: Writer = str, container: Any = st) -> str:
    """Draw buttons for a few ``options`` and return the choice: from the URL, else the first."""
    current = address_value(key) if address_value(key) in options else options[0]
    st.session_state[_widget_key(key)] = current
    container.segmented_control(
        label, options, key=_widget_key(key), format_func=lambda option: in_streamlit(format_option(option)),
        on_change=_write_choice, args=(key, options[0]), required=True, label_visibility="collapsed",
    )  # fmt: skip
    return current


def draw_choices(
    label: str,
    key: str,
    options: Sequence[str],
    format_option: Writer = str,
    container: Any = st,
    usual: Sequence[str] = (),
    limit: int | None = None,
) -> list[str]:
    """Draw a picker of up to ``limit`` of ``options`` and return the choice; if empty, ``usual``."""
    current = [part for part in address_list(key) if part in options][:limit] or list(usual)
    st.session_state[_widget_key(key)] = current
    container.multiselect(
        label,
        options,
        key=_widget_key(key),
        format_func=format_option,
        on_change=_write_choice,
        args=(key, _join(usual)),
        placeholder="all",
        max_selections=limit,
    )
    return current


def draw_switch(label: str, key: str, usual: bool = False, container: Any = st) -> bool:
    """Draw a switch and return whether it is on."""
    current = address_value(key) == "yes" if address_value(key) in ("yes", "no") else usual
    st.session_state[_widget_key(key)] = current
    container.toggle(label, key=_widget_key(key), on_change=_write_choice, args=(key, "yes" if usual else "no"))
    return current


def draw_text_field(label: str, key: str, container: Any = st, hint: str = "") -> str:
    """Draw a text field and return its content."""
    st.session_state[_widget_key(key)] = address_value(key)
    container.text_input(label, key=_widget_key(key), on_change=_write_choice, args=(key,), placeholder=hint)
    return address_value(key)


def draw_number_field(label: str, key: str, low: int, high: int, container: Any = st) -> int:
    """Draw a field for a whole number and return it, or ``low`` if the URL has no valid one."""
    text = address_value(key)
    current = min(max(int(text), low), high) if text.isascii() and text.isdigit() else low
    st.session_state[_widget_key(key)] = current
    container.number_input(
        label, low, high, step=1, key=_widget_key(key), on_change=_write_choice, args=(key, str(low))
    )
    return current


def draw_range_slider(label: str, key: str, options: Sequence[float], container: Any = st) -> tuple[float, float]:
    """Draw a slider over ``options``, at least two and in order, and return both ends of the selection."""
    ends = [_nearest_option(part, options) for part in address_value(key).split("..")]
    numbers = sorted(value for value in ends if value is not None)
    low, high = numbers if len(numbers) == len(ends) == 2 else (options[0], options[-1])
    # Whether a slider has one end or two depends on its arguments, not on the session.
    name = f"{_widget_key(key)} {_format_span(low, high)}"
    container.select_slider(
        label, options, (low, high), key=name, format_func=lambda value: f"{value:.3g}", on_change=_write_range,
        args=(key, name, _format_span(options[0], options[-1])),
    )  # fmt: skip
    return low, high


def _nearest_option(text: str, options: Sequence[float]) -> float | None:
    """Return the option nearest to the number in a text, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return min(options, key=lambda option: abs(option - value)) if math.isfinite(value) else None


def _format_span(low: float, high: float) -> str:
    return f"{low:.9g}..{high:.9g}"


def _write_choice(key: str, usual: str = "", dependents: Dependents | None = None) -> None:
    """Write a picker's new value into the URL, after removing the values that do not fit it."""
    value = st.session_state[_widget_key(key)]
    text = "yes" if value is True else "no" if value is False else value
    address = st.query_params.to_dict()
    unfit = [other for other, of in (dependents or {}).items() if other in address and address[other] not in of(text)]
    if unfit:  # in one step, which is one entry of the history
        value = {} if text == usual else {key: text}
        st.query_params.from_dict({k: v for k, v in address.items() if k not in (*unfit, key)} | value)
        return
    write_address(key, text if isinstance(text, list) else str("" if text is None else text), usual)


def _write_range(key: str, name: str, usual: str) -> None:
    """Write a slider's new range into the URL."""
    write_address(key, _format_span(*st.session_state[name]), usual)


def _widget_key(key: str) -> str:
    """Return a picker's key in Streamlit, which differs from that in the URL."""
    return f"pick {key}"
