"""The Slurm script: by bash, by shellcheck, and run with stand-ins of Slurm that start real Ray nodes here."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from deployed import DEPLOY, TINY, own_environment
from waiting import wait_until

from longwave.platform.storage.store import Store

SCRIPT = DEPLOY / "slurm/longwave.sbatch"
STAND_INS = {
    # A step without --cpus-per-task may have one core: https://slurm.schedmd.com/srun.html.
    "srun": '[[ $* == *"ray start"* && $* != "--cpus-per-task=1 "* ]] && exit 1\n'
    'while [[ $1 == --* ]]; do shift; done\nexec "$@"',
    "scontrol": '[ "$*" = "show hostnames [one,two]" ] && printf "one\\ntwo\\n"',
    "hostname": "echo 127.0.0.2",  # Ray takes 127.0.0.1 for whatever address the machine has outside
}


def slurm(folder: Path) -> dict[str, str]:
    """Return the environment of a job of two nodes with a core each."""
    (folder / "bin").mkdir()
    for name, lines in STAND_INS.items():
        (folder / "bin" / name).write_text(f"#!/bin/bash\n{lines}\n")
        (folder / "bin" / name).chmod(0o755)
    own = own_environment(LONGWAVE_HOME=str(folder / "home"), SLURM_JOB_ID=str(os.getpid()), SLURM_CPUS_PER_TASK="1")
    job = {"SLURM_JOB_NODELIST": "[one,two]", "SLURM_JOB_NUM_NODES": "2"}
    return {**own, **job, "PATH": f"{folder / 'bin'}:{own['PATH']}"}


def test_bash_and_shellcheck_find_nothing() -> None:
    subprocess.run(["bash", "-n", SCRIPT], check=True)
    done = subprocess.run(["shellcheck", SCRIPT], capture_output=True, text=True, env=own_environment())
    assert done.returncode == 0, done.stdout


def test_slurm_is_told_what_the_page_says() -> None:
    options = dict(re.findall(r"^#SBATCH --([a-z-]+)(?:=(\S+))?", SCRIPT.read_text(), re.MULTILINE))
    assert options["signal"] == "B:TERM@120" and {"nodes", "gpus-per-node", "cpus-per-task", "time"} <= set(options)
    assert options["ntasks-per-node"] == "1" and "exclusive" in options, "a Ray node is a whole node"


@pytest.mark.parametrize(
    ("arguments", "home", "message"), [([], True, "Which sweep"), (["f.toml"], False, "LONGWAVE_HOME")]
)
def test_what_is_not_given_is_asked_for_in_one_line(
    arguments: list[str], home: bool, message: str, tmp_path: Path
) -> None:
    env = slurm(tmp_path)
    if not home:
        del env["LONGWAVE_HOME"]
    done = subprocess.run(["bash", SCRIPT, *arguments], env=env, capture_output=True, text=True)
    assert done.returncode != 0 and message in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.slow  # two Ray nodes and the start of a driver: a minute
def test_the_script_starts_two_nodes_runs_the_sweep_on_them_and_ends_both(tmp_path: Path) -> None:
    env, file = slurm(tmp_path), tmp_path / "tiny.toml"
    file.write_text(TINY)
    command = ["bash", SCRIPT, file, "--mlflow", "off"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Ray runtime started") == 2 and "6 of 6 trials done (6 ok)" in done.stdout
    with Store(f"sqlite:///{tmp_path}/home/longwave.db", create=False) as store:
        assert [trial.status for trial in store.planned("tiny")] == ["ok"] * 6
    assert not list((tmp_path / "home").glob("slurm-*")), "the token is gone"
    assert not _of_job(), "no process is left"


@pytest.mark.slow  # as above
def test_term_before_the_time_is_up_saves_checkpoints_and_ends_with_143(tmp_path: Path) -> None:
    env, file = slurm(tmp_path), tmp_path / "tiny.toml"
    file.write_text(TINY.replace("epochs = 6", "epochs = 40000"))
    url = f"sqlite:///{tmp_path}/home/longwave.db"
    with (tmp_path / "log").open("wb") as log:
        job = subprocess.Popen(["bash", SCRIPT, file, "--mlflow", "off"], env=env, stdout=log, stderr=log)
    wait_until(lambda: (tmp_path / "home/longwave.db").exists() and _epochs(url) > 20)
    job.send_signal(signal.SIGTERM)
    assert job.wait(120) == 143, (tmp_path / "log").read_text()
    time.sleep(1)
    assert not _of_job() and list((tmp_path / "home").rglob("*.safetensors")), "what was trained is kept"


def _epochs(url: str) -> int:
    with Store(url) as store:
        return store.count()["epochs"]


def _of_job() -> list[str]:
    """Return the commands of the job's Ray that still run."""
    commands = [" ".join(p.info["cmdline"] or []) for p in psutil.process_iter(["cmdline"])]
    return [line for line in commands if f"/tmp/ray-{os.getpid()}/" in line]
