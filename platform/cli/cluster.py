"""Commands for Ray clusters: sweep submit, sweep logs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longwave.platform.cli.options import RunOptions, takes_options
from longwave.platform.errors import ConfigError
from longwave.platform.redaction import redacted
from longwave.platform.render.harmless import escape_invisible
from longwave.platform.render.terminal import show_waiting
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.platform.sweeps.on_ray.package import shipped_plugins
from longwave.platform.sweeps.plan.stored import check_plugins

if TYPE_CHECKING:
    from longwave.platform.sweeps.on_ray.submission import JobClient

AddressOption = Annotated[
    str, typer.Option(envvar="LONGWAVE_RAY", metavar="URL", help="Address of Ray's dashboard, http://HOST:8265.")
]


@takes_options
def submit_sweep(
    file: Annotated[Path, typer.Argument(help="Sweep file, TOML.")],
    address: AddressOption,
    options: RunOptions,
    ship: Annotated[
        Path | None,
        typer.Option(help="Folder to send with the job: your models/ and tasks/, raw/ with data, other files."),
    ] = None,
    installed: Annotated[
        bool, typer.Option("--installed", help="Use the Longwave installed on the cluster; send none.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Follow its log until it ends.")] = False,
) -> int:
    """Run a sweep as a job of a Ray cluster, with this Longwave. Takes the options of sweep run as well.

    A sweep whose job is running is not submitted twice. The cluster must be able to reach the store.

    Example: longwave sweep submit infra/sweeps/demo.toml --address http://10.0.0.1:8265 --workers 64 --gpus 0.25
    """
    words = options.words()
    for text in words:
        if redacted(text) != text:
            advice = "Everyone on the cluster can read a job's command. Leave it out, and write it to ~/.pgpass there"
            raise ConfigError(f"{redacted(text)} contains a password. {advice}.")
    for name, is_set in (("--ray", options.ray is not None), ("--here", options.here)):
        if is_set:
            raise ConfigError(f"sweep submit runs on the cluster at --address: leave out {name}.")
    if ship is not None and not ship.is_dir():
        raise ConfigError(f"--ship must be a folder, got {ship}.")
    checked = read_sweep(file)
    replace(options, ray="auto").workers_of(checked.name)
    with show_waiting("Checking plugins"):
        check_plugins(checked)
    with show_waiting("Sending"):
        texts, plugin_words = shipped_plugins(file, checked)
        jobs = _jobs_client(address)
        job, is_new = jobs.submit(file, checked.name, [*words, *plugin_words], ship, not installed, texts)
    logs_command = f"longwave sweep logs {checked.name} --address {address}"
    typer.echo(f"{job}: {'submitted' if is_new else 'already running'}. Follow it with: {logs_command} --follow")
    return _follow_job(jobs, job, True) if wait else 0


def print_logs(
    name: Annotated[str, typer.Argument(help="Name of a sweep that was submitted, or of its job.")],
    address: AddressOption,
    follow: Annotated[bool, typer.Option("--follow", help="Follow the log until the job ends.")] = False,
) -> int:
    """Print the log of a sweep's newest job. Exits as the job did, if it has ended.

    Example: longwave sweep logs demo --address http://10.0.0.1:8265 --follow
    """
    jobs = _jobs_client(address)
    return _follow_job(jobs, jobs.find(name), follow)


def _jobs_client(address: str) -> JobClient:
    try:
        from longwave.platform.sweeps.on_ray.submission import JobClient

        return JobClient(address)
    except (ImportError, ModuleNotFoundError):
        raise ConfigError("Jobs need ray[default]. Install it with: pip install 'longwave[cluster]'") from None


def _follow_job(jobs: JobClient, job: str, wait: bool) -> int:
    return jobs.follow(job, lambda text: typer.echo(escape_invisible(text.expandtabs()), nl=False), wait)
