"""Values at an end of the range that was searched."""

from __future__ import annotations

from longwave.platform.statistics.edges import edge_of


def test_the_twentieth_of_a_range_at_each_end_is_its_edge_and_the_rest_is_inside() -> None:
    ends = [edge_of(value, 0.0, 1.0, log=False) for value in (0.0, 0.05, 0.0501, 0.5, 0.9499, 0.95, 1.0)]
    assert ends == ["low", "low", None, None, None, "high", "high"]


def test_a_range_drawn_on_a_logarithmic_scale_has_its_edges_there() -> None:
    assert [edge_of(value, 1e-4, 1e-1, log=True) for value in (1.2e-4, 1.5e-4, 0.07, 0.072)] == [
        "low",
        None,
        None,
        "high",
    ]
    assert edge_of(0.05, 1e-4, 1e-1, log=False) is None and edge_of(1.5e-4, 1e-4, 1e-1, log=False) == "low"


def test_a_value_outside_the_range_is_beyond_the_nearer_edge() -> None:
    assert (edge_of(-3.0, 0.0, 1.0, log=False), edge_of(2.0, 0.0, 1.0, log=False)) == ("low", "high")
