"""Kubernetes' files: pods and services by Kubernetes' own schemas, KubeRay's kinds by the fields of its types."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from deployed import SCHEMAS, documents
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from tree import ROOT

DEFINITIONS = json.loads((SCHEMAS / "kubernetes-1.34.json").read_text())
PLACES = {
    "Deployment": "io.k8s.api.apps.v1",
    "Service": "io.k8s.api.core.v1",
    "PersistentVolumeClaim": "io.k8s.api.core.v1",
    "PodTemplateSpec": "io.k8s.api.core.v1",
}
CLUSTER, JOB = documents("kuberay/raycluster.yaml")[0], documents("kuberay/rayjob.yaml")[0]
LAB = documents("kuberay/lab.yaml")


def check(kind: str, content: dict[str, Any]) -> dict[str, Any]:
    """Raise ValidationError where content is no such thing of Kubernetes 1.34, or has a field that it has not."""
    schema = {"$ref": f"#/$defs/{PLACES[kind]}.{kind}", "$defs": DEFINITIONS["$defs"]}
    jsonschema.Draft202012Validator(schema).validate(content)
    return content


Pods = Annotated[dict[str, Any], AfterValidator(lambda content: check("PodTemplateSpec", content))]


class Strict(BaseModel):
    """Has no other fields. Names as in ray-operator/apis/ray/v1 of KubeRay 1.5."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Head(Strict):
    rayStartParams: dict[str, str]
    template: Pods


class Worker(Strict):
    groupName: str
    replicas: int
    minReplicas: int
    maxReplicas: int
    rayStartParams: dict[str, str]
    template: Pods


class Autoscaler(Strict):
    upscalingMode: Literal["Default", "Aggressive", "Conservative"]
    idleTimeoutSeconds: int


class Token(Strict):
    mode: Literal["token", "disabled"]


class ClusterSpec(Strict):
    rayVersion: str
    enableInTreeAutoscaling: bool
    autoscalerOptions: Autoscaler
    authOptions: Token
    headGroupSpec: Head
    workerGroupSpecs: list[Worker]


class JobSpec(Strict):
    entrypoint: str
    backoffLimit: int
    shutdownAfterJobFinishes: bool
    ttlSecondsAfterFinished: int
    rayClusterSpec: ClusterSpec


class Name(Strict):
    name: str


class Cluster(Strict):
    apiVersion: Literal["ray.io/v1"]
    kind: Literal["RayCluster"]
    metadata: Name
    spec: ClusterSpec


class Job(Strict):
    apiVersion: Literal["ray.io/v1"]
    kind: Literal["RayJob"]
    metadata: Name
    spec: JobSpec


def pods() -> dict[str, dict[str, Any]]:
    spec = CLUSTER["spec"]
    lab = next(one for one in LAB if one["kind"] == "Deployment")["spec"]["template"]
    return {"head": spec["headGroupSpec"]["template"], "worker": spec["workerGroupSpecs"][0]["template"], "lab": lab}


def test_kuberays_kinds_have_the_fields_of_its_types() -> None:
    Cluster.model_validate(CLUSTER)
    Job.model_validate(JOB)
    with pytest.raises(ValidationError, match="idle"):
        Autoscaler.model_validate({"upscalingMode": "Default", "idle": 1})
    with pytest.raises(jsonschema.ValidationError, match="'container' was unexpected"):
        check("PodTemplateSpec", {"spec": {"containers": [], "container": []}})


@pytest.mark.parametrize("one", LAB, ids=[one["kind"] for one in LAB])
def test_the_labs_kinds_keep_kubernetes_schemas(one: dict[str, Any]) -> None:
    check(one["kind"], one)
    with pytest.raises(jsonschema.ValidationError, match="'specs' was unexpected"):
        check(one["kind"], {**one, "specs": {}})


def test_the_jobs_cluster_is_the_one_that_stays_and_its_ray_the_locked_one() -> None:
    assert JOB["spec"]["rayClusterSpec"] == CLUSTER["spec"]
    locked = re.search(r"^ray==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert locked and CLUSTER["spec"]["rayVersion"] == locked[1]


@pytest.mark.parametrize("name", ["head", "worker", "lab"])
def test_no_pod_is_root_or_gains_rights(name: str) -> None:
    spec = pods()[name]["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True and spec["securityContext"]["runAsUser"] == 10001
    for container in spec["containers"]:
        gains = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        assert container["securityContext"] == gains and "memory" in container["resources"]["limits"]


def test_passwords_come_from_a_secret_and_only_to_those_who_write_or_show() -> None:
    has = {}
    for name, pod in pods().items():
        variables = {one["name"]: one for one in pod["spec"]["containers"][0].get("env", [])}
        has[name] = "valueFrom" in variables.get("PGPASSWORD", {})
        assert not any(re.search(r"://[^/@]*:[^/@]*@", one.get("value", "")) for one in variables.values())
    assert has == {"head": True, "worker": False, "lab": True}


def test_workers_have_gpus_come_from_none_and_share_the_folder_with_the_head() -> None:
    worker = CLUSTER["spec"]["workerGroupSpecs"][0]
    assert worker["minReplicas"] == 0 < worker["maxReplicas"] and CLUSTER["spec"]["enableInTreeAutoscaling"]
    assert worker["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"
    claims = {
        name: [v["persistentVolumeClaim"]["claimName"] for v in pod["spec"]["volumes"] if "persistentVolumeClaim" in v]
        for name, pod in pods().items()
    }
    volume = next(one for one in LAB if one["kind"] == "PersistentVolumeClaim")
    assert set(map(tuple, claims.values())) == {(volume["metadata"]["name"],)}
    assert volume["spec"]["accessModes"] == ["ReadWriteMany"]


def test_the_service_finds_the_lab_and_opens_nothing_outside() -> None:
    service = next(one for one in LAB if one["kind"] == "Service")["spec"]
    assert pods()["lab"]["metadata"]["labels"] == service["selector"] and "type" not in service
    ports = [port["name"] for port in pods()["lab"]["spec"]["containers"][0]["ports"]]
    assert service["ports"][0]["targetPort"] in ports
