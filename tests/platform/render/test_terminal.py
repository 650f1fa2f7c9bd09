"""A long page goes to the user's pager on a terminal, and is printed as it is everywhere else."""

from __future__ import annotations

import io
import sys

import pytest

from longwave.platform.render import terminal


class Screen(io.StringIO):
    """A terminal of 25 lines."""

    def isatty(self) -> bool:
        """Return that it is one."""
        return True


@pytest.mark.parametrize(("lines", "on_terminal", "paged"), [(100, True, True), (3, True, False), (100, False, False)])
def test_a_pager_shows_what_is_longer_than_the_terminal(
    lines: int, on_terminal: bool, paged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, shown = Screen if on_terminal else io.StringIO, list[str]()
    monkeypatch.setattr(sys, "stdin", kind())
    monkeypatch.setattr(sys, "stdout", kind())
    monkeypatch.setattr(terminal.pydoc, "pager", shown.append)
    monkeypatch.setenv("LINES", "25")
    with terminal.paging():
        for k in range(lines):
            terminal.print_line(f"line {k}")
    expected = "".join(f"line {k}\n" for k in range(lines))
    assert shown == [expected] * paged
    assert sys.stdout.getvalue() == "" if paged else expected  # type: ignore[attr-defined]


def test_no_text_becomes_a_picture(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.print_line("cell.cpp:100: error :smile:")
    assert capsys.readouterr().out == "cell.cpp:100: error :smile:\n"


def test_a_heading_with_brackets_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.print_table(["Leaky [my-leaky 1a2b]", "b"], [["1", "2"]])
    assert "Leaky [my-leaky 1a2b]" in capsys.readouterr().out


def test_what_is_waited_for_may_be_called_anything() -> None:
    with terminal.show_waiting("Reading [/a].toml") as say:
        say("Checking [bold]")
