"""Models in the terminal: equations fit it, and hyper-parameters say how they are drawn."""

from __future__ import annotations

import re

import pytest

from longwave.models.base.param import Param
from longwave.platform.about import describe_model
from longwave.platform.registry import all_models
from longwave.platform.render.models import _print_sizes, fit_text


@pytest.mark.parametrize("name", all_models())
def test_the_equations_of_every_model_fit_eighty_columns_and_lose_no_symbol(name: str) -> None:
    text = describe_model(all_models()[name])
    fitted = fit_text(text, 80)
    assert re.sub(r"\s", "", fitted) == re.sub(r"\s", "", text)
    equations = [line for line in fitted.splitlines() if line.startswith(" ")]
    assert equations and max(map(len, equations)) <= 80
    assert not [line for line in equations if line.endswith((" −", " +", " ="))], "lines break before a sign"


def test_each_equation_of_a_line_that_is_too_long_has_its_own_and_a_remark_stays_with_its_equation() -> None:
    line = f"    a = {'x' * 20}        b = 1   (Euler)        c = u + {'v' * 30} − w        {'remark ' * 5}"
    assert fit_text(line, 40).splitlines() == [
        f"    a = {'x' * 20}",
        "    b = 1    (Euler)",
        "    c = u",
        f"        + {'v' * 30}",
        "        − w",
        "        remark remark remark remark",
        "        remark",
    ]
    assert fit_text(line, 200) == line


def test_prose_is_joined_into_one_line_a_paragraph() -> None:
    assert fit_text("One\ntwo.\n\n    a = b\n    c = d\n\nThree\nfour.", 9) == (
        "One two.\n\n    a = b\n    c = d\n\nThree four."
    )


def test_a_hyper_parameter_says_how_it_is_drawn_and_what_happens_without_it() -> None:
    drawn = Param("k", "k", 1, 8, True, "1", "", whole=True)
    assert (drawn.draw, drawn.if_not_given) == ("log, integer", "drawn")
    for default, words in ((None, "absent"), (0.25, "0.25"), ("beta", "as beta")):
        fixed = Param("p", "p", 0, 1, False, "1", "", zero=True, searched=False, default=default)
        assert (fixed.draw, fixed.if_not_given) == ("linear", words)


@pytest.mark.parametrize(
    ("name", "read", "other"), [("cornn", "Parity", "Karate club"), ("gcn", "Karate club", "Parity")]
)
def test_a_models_size_is_shown_under_the_recipes_of_the_tasks_that_it_can_read(
    name: str, read: str, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _print_sizes(all_models()[name])
    printed = capsys.readouterr().out
    assert read in printed and other not in printed
