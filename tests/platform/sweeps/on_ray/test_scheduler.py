"""What ended the process that drives Ray is said in one line, which names the cause."""

from __future__ import annotations

import pytest

from longwave.platform.sweeps.on_ray.scheduler import describe_error

TRACE = 'Traceback (most recent call last):\n  File "x.py", line 3, in f\n    g()\nActorDiedError: The actor died.\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TRACE, "ActorDiedError: The actor died."),
        ("No node.\nAsk again.", "No node."),
        ("", "RuntimeError"),
    ],
)
def test_it_is_the_first_line_or_the_last_of_a_traceback(text: str, line: str) -> None:
    assert describe_error(RuntimeError(text)) == line
