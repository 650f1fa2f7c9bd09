"""The cluster file for clouds, by Ray's own validation."""

from __future__ import annotations

from copy import deepcopy

import pytest
from deployed import DEPLOY, documents

CLUSTER = documents("ray/cluster.yaml")[0]


def test_ray_takes_the_cluster_file_and_refuses_a_broken_one() -> None:
    from jsonschema import ValidationError
    from ray.autoscaler._private.util import prepare_config, validate_config

    whole = prepare_config(deepcopy(CLUSTER))
    validate_config(whole)
    assert whole["available_node_types"]["head"]["max_workers"] == 0
    with pytest.raises(ValidationError, match="image_name"):
        validate_config({**whole, "docker": {"image_name": "longwave"}})


def test_gpu_workers_come_and_go_between_none_and_as_many_as_there_may_be() -> None:
    worker, head = CLUSTER["available_node_types"]["gpu"], CLUSTER["available_node_types"][CLUSTER["head_node_type"]]
    assert worker["min_workers"] == 0 and worker["max_workers"] == CLUSTER["max_workers"] > 0
    assert worker["resources"]["GPU"] == 1 and head["resources"] == {"CPU": 0, "GPU": 0}, "the head runs drivers alone"


def test_the_cluster_asks_for_a_token_and_holds_no_secret() -> None:
    options = dict(o.removeprefix("--env=").split("=", 1) for o in CLUSTER["docker"]["run_options"] if "--env" in o)
    assert options["RAY_AUTH_MODE"] == "token" and options["RAY_AUTH_TOKEN_PATH"] in CLUSTER["file_mounts"]
    assert "password" not in (DEPLOY / "ray/cluster.yaml").read_text().replace("the password of the store", "")


def test_the_page_counts_the_lines_to_fill_in() -> None:
    marked = [line for line in (DEPLOY / "ray/cluster.yaml").read_text().splitlines() if "# yours" in line]
    assert len(marked) == 4
