"""Prometheus's file and Grafana's board: what they ask for is what a driver shows."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from deployed import DEPLOY, documents
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from longwave.platform.sweeps.run.metrics import DriverMetrics, parse_endpoint

BOARD: dict[str, Any] = json.loads((DEPLOY / "monitoring/grafana.json").read_text())
NAME = re.compile(r"\b((?:longwave|process)_[a-z_]+)\b")
EXPRESSIONS = [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]


class Plain(BaseModel):
    """Has no other fields."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Settings(Plain):
    scrape_interval: str = Field(pattern=r"^\d+(ms|s|m)$")


class Targets(Plain):
    targets: list[str]


class Scrape(Plain):
    job_name: str
    static_configs: list[Targets]


class Prometheus(Plain):
    """The parts of Prometheus 3's configuration that we use."""

    model_config = ConfigDict(extra="forbid", strict=True)
    global_: Settings = Field(alias="global")
    scrape_configs: list[Scrape]


def shown() -> dict[str, set[str]]:
    """Return the names of all that a driver shows, with their labels, as Prometheus's parser finds them."""
    numbers = DriverMetrics("tiny")
    numbers.observe_transaction("write", 0.1)
    numbers.started("pack", ["trial"])
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(generate_latest(numbers.registry).decode()):
        for sample in family.samples:
            labels[sample.name] = set(sample.labels)
    return labels


def test_prometheus_is_told_where_a_driver_of_this_machine_is() -> None:
    config = Prometheus.model_validate(documents("monitoring/prometheus.yml")[0])
    assert [parse_endpoint(one) for one in config.scrape_configs[0].static_configs[0].targets] == [("127.0.0.1", 9464)]
    with pytest.raises(ValidationError, match="scrape_interval"):
        Settings.model_validate({"scrape_interval": "often"})


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_each_panel_asks_for_numbers_and_labels_that_a_driver_shows(expression: str) -> None:
    names, known = NAME.findall(expression), shown()
    assert names and set(names) <= set(known), f"{expression} asks for what nobody shows"
    by = {label.strip() for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(",")}
    assert by <= set.union(*(known[name] for name in names))
    assert expression.count("(") == expression.count(")") and expression.count("{") == expression.count("}")


def test_counters_are_shown_as_rates_and_each_own_number_has_a_panel_and_a_line_of_the_page() -> None:
    counters = [e for e in EXPRESSIONS if re.search(r"_(total|bucket)\b", e)]
    assert counters and all("rate(" in expression for expression in counters)
    own = {re.sub(r"_(bucket|sum|count|created)$", "", name) for name in shown() if name.startswith("longwave_")}
    own = {name.removesuffix("_total") for name in own}
    queried = {re.sub(r"_(bucket|total)$", "", name) for e in EXPRESSIONS for name in NAME.findall(e)}
    page = (DEPLOY / "monitoring/README.md").read_text()
    documented = {name.removesuffix("_total") for name in re.findall(r"^\| `(longwave_\w+)`", page, re.MULTILINE)}
    assert own == documented == queried - {"process_resident_memory_bytes"}


def test_panels_lie_side_by_side_and_have_ids_titles_and_a_source_that_is_chosen() -> None:
    covered: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & covered and at["x"] + at["w"] <= 24, f"{panel['title']} lies on another"
        covered |= cells
        assert panel["title"] and panel["datasource"] == {"type": "prometheus", "uid": "${source}"}
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert len(set(ids)) == len(ids)
    assert [one["name"] for one in BOARD["templating"]["list"]] == ["source", "sweep"]
