"""A Ray node on this machine without dashboard, monitors, agents and metrics, which take most of Ray's start-up time.

Ray has no switch for some of these. A raylet needs a command for each agent: ours only waits for the raylet to end, and
the files with the agents' ports say that there is none, as Ray's own agents do when packages are missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ray._private.ray_constants as constants
from ray import _raylet as _typed_raylet
from ray._private import services
from ray._private.authentication.authentication_token_setup import ensure_token_if_auth_enabled
from ray._private.node import Node
from ray._private.parameter import RayParams
from ray._private.resource_isolation_config import ResourceIsolationConfig

_raylet: Any = _typed_raylet
"""Untyped, since its stubs lack some of the functions used here."""
STORE_BYTES = 200_000_000
NO_AGENT = 'sh -c "while kill -0 $RAY_RAYLET_PID; do sleep 5; done"'
AGENTS = ("--dashboard_agent_command=", "--runtime_env_agent_command=")
PORTS = (
    _raylet.DASHBOARD_AGENT_LISTEN_PORT_NAME,
    _raylet.METRICS_AGENT_PORT_NAME,
    _raylet.METRICS_EXPORT_PORT_NAME,
    _raylet.RUNTIME_ENV_AGENT_PORT_NAME,
)


class BareNode(Node):
    """A node with only GCS and raylet."""

    def start_api_server(self, **_: Any) -> None:
        """Do not start the dashboard."""

    def start_raylet(self, *args: Any, **options: Any) -> None:
        """Start the raylet with agents that do nothing."""
        for port in PORTS:
            _raylet.persist_port(self._session_dir, self._node_id, port, -1)
        super().start_raylet(*args, **options)

    def dead(self) -> str:
        """Return which of the node's processes has ended; empty while all are alive."""
        return next((kind for kind, (info, *_) in self.all_processes.items() if info.process.poll() is not None), "")


def start_node(
    cores: int,
    folder: Path,
    cluster: str | None = None,
    gpus: int | None = None,
    labels: Mapping[str, str] | None = None,
) -> BareNode:
    """Start a node on the loopback interface. It ends with the thread that calls this function.

    Args:
        cores: Cores for packs.
        folder: Folder of its files.
        cluster: Address of another such node to join; by default it is the head of a new cluster.
        gpus: Number of GPUs to use; by default all.
        labels: Its labels, in addition to Ray's own.
    """
    constants.ENABLE_RAY_CLUSTER = False  # makes all nodes use the loopback address
    start_process = services.start_ray_process

    def start(command: list[str], *args: Any, **options: Any) -> Any:
        replaced = [next((agent + NO_AGENT for agent in AGENTS if part.startswith(agent)), part) for part in command]
        return start_process(replaced, *args, **options)

    services.start_ray_process = start
    ensure_token_if_auth_enabled({}, create_token_if_missing=True)
    token = Path.home() / ".ray" / "auth_token"
    if token.exists():
        token.chmod(0o600)
    params = RayParams(
        num_cpus=cores,
        num_gpus=gpus,
        labels=dict(labels or {}),
        object_store_memory=STORE_BYTES,
        temp_dir=str(folder),
        session_name=None if cluster else "session",
        gcs_address=cluster,
        no_monitor=True,
        include_log_monitor=False,  # type: ignore[arg-type]
        include_dashboard=False,
        resource_isolation_config=ResourceIsolationConfig(),
    )
    return BareNode(params, head=not cluster, shutdown_at_exit=False, ray_init_cluster=not cluster)
