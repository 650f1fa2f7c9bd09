"""Output of commands in terminals of several widths, reviewed by a person: ``make screens`` writes it.

Read the changes before you commit them: truncated numbers, columns dropped too early, superfluous lines.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from unittest import mock

from boards import keep, printed, retrained, trials
from tree import ROOT

from longwave.platform import registry
from longwave.platform.bench.board import BoardTime
from longwave.platform.bench.outside import Outside
from longwave.platform.bench.report import KernelReport, Timing
from longwave.platform.bench.sizes import Size
from longwave.platform.bench.sweep import Measurement, Throughput
from longwave.platform.bench.vanishing import Vanishing
from longwave.platform.boards import board
from longwave.platform.cli.main import main
from longwave.platform.doctor import Finding
from longwave.platform.records.group import EVERYBODY, Group
from longwave.platform.records.probe import Probe, load_key
from longwave.platform.records.run import Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.render import bench, doctor, models, tasks
from longwave.platform.render import board as render_board
from longwave.platform.render.export import Format
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.run import executor

FOLDER = ROOT / "tests/platform/cli/screens"
WIDTHS = (80, 120, 200)
RULER = "─── {} columns "
TASKS = ("adding", "copy_memory", "digits", "eigenworms", "enso", "parity", "psmnist")
"""Tasks of the lists: all of them would change whenever one is added."""


def make_rows() -> list[Group]:
    """Return the rows of four boards: one that diverged, a provisional one, one of two heads, one of another size."""
    registered = {name: registry.get_task(name) for name in ("adding", "digits", "parity", "enso")}
    metrics = {"digits": ("accuracy", "%", "max"), "parity": ("accuracy", "%", "max"), "enso": ("nrmse", "1", "min")}
    rows = []
    for k, (task, spec) in enumerate(registered.items()):
        metric, unit, goal = metrics.get(task, ("mse", "1", "min"))
        about = {"metric": metric, "unit": unit, "goal": goal, "task": task, "variant": spec.variant}
        about |= {"task_version": spec.version, "trivial": {"mean": 0.1691 if goal == "min" else 50.0}}
        for j, (model, title) in enumerate({"lem": "LEM", "cornn": "coRNN", "chrono_lstm": "chrono-LSTM"}.items()):
            base = (0.0123 + 0.0391 * j) * (k + 1) if goal == "min" else 97.3 - 3.1 * j - k
            tests: list[float | str] = [base * (1 + 0.013 * i) for i in range(6 if model != "cornn" else 3)]
            tests += ["diverged"] if model == "chrono_lstm" and k == 0 else []
            version = registry.get_model(model).version
            rows.append(retrained(model, tests, **about, title=title, model_version=version, **protocol_facts(model)))
    return rows


def protocol_facts(model: str) -> dict[str, object]:
    """Return the protocol fields of a row's ``About``."""
    changed = ("hidden 32 (published 128)", "epochs 40 (published 300)")
    return {"departures": changed, "recipe": "LEM, Table 8: 30,000 steps"} if model != "cornn" else {}


def one_board() -> None:
    """Print the board of rows with published numbers."""
    groups = [group for group in make_rows() if group.config.task == "adding"]
    numbers = [
        printed("lem", 0.0125, task="adding", std=0.0004, n=5, printed="0.0125", sources="LEM, Table 3 (this paper)"),
        printed("lipschitz_rnn", 0.051, task="adding", sources="Lipschitz RNN, Table 2 (this paper)"),
    ]
    render_board.print_boards(board.rows(groups, numbers), EVERYBODY, Format.table)


def print_kernel_lines() -> None:
    """Print the first lines of a stored benchmark."""
    stored = json.loads((ROOT / "infra/benchmarks/cpu-avx512.json").read_text())
    lines = [{k: v for k, v in line.items() if k not in ("ratios", "roofline")} for line in stored["lines"][:4]]
    timings = [Timing(**{**line, "size": Size(**line["size"])}) for line in lines]
    last = [{k: v for k, v in line.items() if k != "ratios"} for line in stored.get("vanishing", [])]
    vanishing = [Vanishing(**{**line, "size": Size(**line["size"])}) for line in last[:4] + last[-1:]]
    bench.print_kernels(KernelReport(stored["versions"], stored["device"], timings, vanishing), "table")


def print_benchmarks() -> None:
    """Print the output of the other benchmarks, for made-up numbers."""
    path = "cpu: the fused LEM loop, C++ for AVX512"
    lines = [Measurement(f"{m} members", f"M={m} T=1000 B=32 p=1 d=16", path, 100.0 * m, m, 100.0) for m in (1, 16)]
    throughputs = [
        Throughput(label, 16, 2, 2, 3.21, 17944.0, 1.0) for label in ("packs", "plain Ray Tune, plain loops")
    ]
    commands = [
        Outside(f"sweep run{label}", 16, 2, 3.21, 4.56, 0.32, 2.89) for label in ("", " --here", " --workers 2")
    ]
    bench.print_sweep(lines, throughputs, "", commands, "table")
    bench.print_boards(
        [BoardTime("overview", "100,000 runs, 2,800 rows, 30 tasks", "sqlite", 281.0, 402.0, 0.28)], "table"
    )


def print_findings() -> None:
    """Print possible findings of the doctor."""
    packages = "torch 2.15.0, ray 2.60.0, optuna 5.0.0, mlflow 3.17.2, sqlalchemy 2.1.9, streamlit 1.67.0"
    store = "sqlite:////home/somebody/.local/share/longwave/longwave.db: file is not a database"
    doctor.print_findings([Finding("packages", True, packages), Finding("store", False, store)])


def make_command(words: str) -> Callable[[], None]:
    """Return a function that runs a command line; ROW is the best row of adding, TRIAL one of its retrainings."""

    def run() -> None:
        best = make_rows()[0]
        arguments = words.replace("ROW", best.config.row[:8]).replace("OTHER", make_rows()[1].config.row[:8])
        assert main(arguments.replace("TRIAL", best.runs[0].id[:8]).split()) == 0, words

    return run


SCREENS: dict[str, Callable[[], None]] = {
    "board_of_one_task": one_board,
    "board_of_all_tasks": make_command("board"),
    "compare": make_command("compare LEM coRNN"),
    "budget": make_command("budget adding"),
    "diff": make_command("diff ROW OTHER"),
    "show_row": make_command("show ROW"),
    "show_trial": make_command("show TRIAL"),
    "models": make_command("models --family delay"),
    "model": make_command("models lem"),
    "tasks": make_command("tasks"),
    "task": make_command("tasks adding"),
    "published": make_command("published enso"),
    "data_list": make_command("data list"),
    "sweep_plan": make_command("sweep plan infra/sweeps/demo.toml --cpu --workers 2"),
    "sweep_list": make_command("sweep list"),
    "sweep_status": make_command("sweep status demo"),
    "doctor": print_findings,
    "bench_kernels": print_kernel_lines,
    "bench_others": print_benchmarks,
}


def store_search(store: Store, group: Group) -> None:
    """Write eight search trials behind a row, one of which diverged."""
    base, about = group.config, trials(group)[0].about
    configs = [replace(base, phase="search", seed=90 + k, params={"lr": 0.1 / (k + 1)}) for k in range(8)]
    store.add_trials("demo", configs, [about] * 8)
    ends = [Run(c.id, "ok", epochs=3, best_epoch=2, valid=0.0131 * (k + 1), seconds=2.5) for k, c in enumerate(configs)]
    store.write([], [*ends[:7], Run(configs[7].id, "diverged", "a loss that is not finite", epochs=1, seconds=1.0)])


def make_probes(packs: Sequence[tuple[str, Sequence[TrialConfig]]], *_: object) -> Iterator[Probe]:
    """Yield made-up probes of packs: one second per epoch of eight members."""
    for kind, configs in packs:
        yield Probe(kind, load_key(configs[0]), len(configs), 2**20, 2**34, 0.01, len(configs) / 8)


@contextlib.contextmanager
def stage_commands() -> Iterator[None]:
    """Inside the block commands use a separate store, few tasks, and fixed paths."""
    few = {name: spec for name, spec in registry.all_tasks().items() if name in TASKS}
    timed = mock.patch.object(tasks, "duration", lambda _: "0.1 s")
    few_tasks = mock.patch.object(models, "all_tasks", lambda: few)
    tried = mock.patch.multiple(executor, run_probes=make_probes, running_workers=lambda _: contextlib.nullcontext())
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(ROOT), timed, few_tasks, tried:
        url = f"sqlite:///{folder}/s.db"
        with Store(url) as store:
            store.add_sweep("demo", {"trials": 2})
            keep(store, *make_rows())
            for group in make_rows():
                if group.config.task == "adding":
                    store_search(store, group)
        environment = {
            "LONGWAVE_STORE": url,
            "LONGWAVE_HOME": "/home/somebody/longwave",
            "LONGWAVE_CACHE": "/home/somebody/cache",
        }
        with mock.patch.dict(os.environ, environment), mock.patch.object(registry, "all_tasks", lambda: few):
            yield


def print_screen(name: str, width: int) -> str:
    """Return the output of a command in a terminal of that width, without trailing spaces."""
    out = io.StringIO()
    with mock.patch.dict(os.environ, {"COLUMNS": str(width)}), contextlib.redirect_stdout(out):
        SCREENS[name]()
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()).rstrip() + "\n"


def print_page(name: str) -> str:
    """Return the output of a command in terminals of all widths, one below the other."""
    return "\n".join(RULER.format(width).ljust(width, "─") + "\n" + print_screen(name, width) for width in WIDTHS)


def screen_file(name: str) -> Path:
    """Return the file of a command's screens."""
    return FOLDER / f"{name}.txt"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    with stage_commands():
        for each in SCREENS:
            screen_file(each).write_text(print_page(each), encoding="utf-8")
