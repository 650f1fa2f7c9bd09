"""The image and the compose file: by the Compose Specification's schema, and by what they promise."""

from __future__ import annotations

import json
import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from deployed import DEPLOY, SCHEMAS, blocks
from tree import ROOT

DOCKER = DEPLOY / "docker"
SECRET = re.compile(r"(?i)passw|token|secret")


def compose(name: str = "compose.yaml") -> dict[str, Any]:
    """Return a compose file as it is where no variable is set."""
    text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", (DOCKER / name).read_text())
    services: dict[str, Any] = yaml.safe_load(text)
    return services


def lines() -> list[tuple[str, str]]:
    """Return the Dockerfile's instructions and what they are given."""
    text = re.sub(r"^#.*\n", "", (DOCKER / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", "")
    parts = [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]
    return [(word, " ".join(rest.split())) for word, rest in parts]


@pytest.mark.parametrize("name", ["compose.yaml", "compose.gpu.yaml"])
def test_compose_files_keep_the_specification(name: str) -> None:
    schema = json.loads((SCHEMAS / "compose-spec.json").read_text())
    check = jsonschema.Draft7Validator(schema).validate
    check(compose(name))
    with pytest.raises(jsonschema.ValidationError, match="helthcheck"):
        check({"services": {"one": {"image": "x", "helthcheck": {}}}})


def test_compose_itself_takes_the_files() -> None:
    command = ["docker-compose"] if shutil.which("docker-compose") else ["docker", "compose"]
    if not shutil.which(command[0]) or subprocess.run([*command, "version"], capture_output=True).returncode:
        pytest.skip("Docker Compose is not installed here")
    files = ["-f", str(DOCKER / "compose.yaml"), "-f", str(DOCKER / "compose.gpu.yaml")]
    subprocess.run([*command, *files, "config", "--quiet"], check=True)


def test_no_service_is_root_or_gains_rights_and_each_says_whether_it_is_well() -> None:
    services = compose()["services"]
    assert set(services) == {"postgres", "mlflow", "dashboard", "ray-head", "ray-worker"}
    for name, service in services.items():
        assert service["user"] in ("10001:10001", "postgres"), name
        assert service["cap_drop"] == ["ALL"] and service["security_opt"] == ["no-new-privileges:true"], name
        assert "healthcheck" in service or name == "dashboard", f"{name}: the image's own asks the Lab"
        assert not {"privileged", "network_mode", "pid"} & set(service), name


def test_ports_are_open_on_this_machine_alone() -> None:
    ports = [port for service in compose()["services"].values() for port in service.get("ports", [])]
    assert len(ports) == 3 and all(port.startswith("127.0.0.1:") for port in ports)


def test_secrets_are_files_that_only_those_have_who_need_them() -> None:
    services = compose()
    assert services["secrets"] == {name: {"file": f"./secrets/{name}"} for name in ("postgres_password", "ray_token")}
    has = {name: set(service.get("secrets", [])) for name, service in services["services"].items()}
    assert [name for name in has if "postgres_password" in has[name]] == ["postgres", "mlflow", "dashboard", "ray-head"]
    assert [name for name in has if "ray_token" in has[name]] == ["ray-head", "ray-worker"]
    for name, service in services["services"].items():
        for key, value in service.get("environment", {}).items():
            assert not SECRET.search(key) or value.startswith("/run/secrets/"), f"{name}: {key} is in clear"
            assert not re.search(r"://[^/@]*:[^/@]*@", value), f"{name}: {key} holds a password"
    assert "/infra/deploy/docker/secrets/" in (ROOT / ".gitignore").read_text().splitlines()


def test_what_a_service_waits_for_is_healthy() -> None:
    services = compose()["services"]
    waits = {name: set(service.get("depends_on", {})) for name, service in services.items()}
    assert waits["ray-worker"] == {"ray-head"} and waits["ray-head"] == {"postgres", "mlflow"}
    for service in services.values():
        assert all(how == {"condition": "service_healthy"} for how in service.get("depends_on", {}).values())


def test_the_image_comes_from_the_lock_in_two_stages_and_ends_without_root() -> None:
    instructions = lines()
    stages = [rest for word, rest in instructions if word == "FROM"]
    assert len(stages) == 2 and stages[0].endswith("AS build") and all("latest" not in stage for stage in stages)
    last = instructions[[k for k, (word, _) in enumerate(instructions) if word == "FROM"][-1] :]
    assert [rest for word, rest in last if word == "USER"] == ["10001:10001"]
    assert [word for word, _ in last[-3:]] == ["HEALTHCHECK", "ENTRYPOINT", "CMD"]
    installs = [rest for word, rest in instructions if word == "RUN" and "uv pip install" in rest]
    assert "-c requirements.lock -r pyproject.toml --extra all" in installs[0] and "--no-deps ." in installs[1]
    pinned = re.search(r"uv==\S+", (ROOT / "Makefile").read_text())
    assert pinned and any(pinned[0] in rest for _, rest in instructions), "the same uv as the Makefile's"


def test_all_that_the_image_copies_is_there_and_not_ignored() -> None:
    sources = [
        source
        for word, rest in lines()
        if word == "COPY" and "--from" not in rest
        for source in [part for part in rest.split() if not part.startswith("--")][:-1]
    ]
    included = {line[1:] for line in (DOCKER / "Dockerfile.dockerignore").read_text().splitlines() if line[0] == "!"}
    assert all((ROOT / source).exists() for source in sources)
    assert set(sources) == included


def test_hadolint_finds_nothing() -> None:
    if not (hadolint := shutil.which("hadolint")):
        pytest.skip("hadolint is not installed here")
    subprocess.run([hadolint, str(DOCKER / "Dockerfile")], check=True)


@pytest.mark.parametrize(("password", "escaped"), [("plain", "plain"), (r"a:b\c'$(d) e", r"a\:b\\c'$(d) e")])
def test_the_password_reaches_libpq_by_a_file_for_its_owner_alone(password: str, escaped: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(password)
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "LONGWAVE_PASSWORD_FILE": str(tmp_path / "secret")}
    command = ["sh", str(DOCKER / "entrypoint.sh"), "sh", "-c", "env; exit 7"]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    written = tmp_path / ".pgpass"
    assert done.returncode == 7 and "plain" not in done.stdout, "the command runs in its place; no variable has it"
    assert written.read_text() == f"*:*:*:*:{escaped}\n" and stat.S_IMODE(written.stat().st_mode) == 0o600


def test_without_a_secret_the_image_starts_all_the_same(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "LONGWAVE_PASSWORD_FILE": str(tmp_path / "none")}
    subprocess.run(["sh", str(DOCKER / "entrypoint.sh"), "true"], env=env, check=True)
    assert not (tmp_path / ".pgpass").exists()


def test_the_page_starts_by_hand_what_the_compose_file_starts() -> None:
    by_hand = blocks((DOCKER / "README.md").read_text())
    assert {"In each terminal first", "Once", "MLflow", "The Lab", "The head", "A worker", "Then a sweep"} <= set(
        by_hand
    )
    for name, page in (("mlflow", "MLflow"), ("ray-head", "The head"), ("ray-worker", "A worker")):
        words = by_hand[page].split()
        assert compose()["services"][name]["command"][:2] == words[:2]
