"""The page about scale, from the measurements of ``scale.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scale import ScaleReport, ScaleRun

NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
"""Databases in print, by the start of their URLs."""
MILLION, GPUS = 1_000_000, 1_000
"""What the page extrapolates to: trials of a sweep, and GPUs with a pack each."""
BASE = 70.0
"""MiB of a driver with nothing planned."""


def scale_report(report: ScaleReport) -> str:
    """Return ``infra/scale.md``."""
    size, versions = report.size, report.versions
    head = (
        "# One driver under a thousand simulated workers\n\n"
        "Written by `infra/benchmarks/scale.py`; its numbers are in `infra/benchmarks/scale-postgresql.json`. A driver "
        f"with {size.workers} simulated workers: {size.trials} trials of {size.epochs} epochs in packs of {size.pack}, "
        f"and {size.earlier} runs of other sweeps in the store. Plan, leases, pipes, transactions and driver are real; "
        "the workers train nothing and report as fast as the driver can process, so it is always saturated. Ray's "
        "scheduler, checkpoints over a network and successive halving are not included. The driver is killed once half "
        "of the trials have ended, and another continues.\n\n"
        f"{versions['device']}, {versions['system']}, Python {versions['python']}. Driver, workers, database and a "
        "process that sends queries share the cores with other programs: seconds are upper bounds, CPU time is what "
        "the driver needs.\n"
    )
    return "\n".join([head, *(_of_run(report, run) for run in report.runs)])


def _of_run(report: ScaleReport, run: ScaleRun) -> str:
    load = ", ".join(f"{phase} {mean:.1f}" for phase, mean in run.load.items())
    targets = [f"| {t.what} | {t.ratio:.3g} | {t.bound:g} | {'met' if t.met else 'not met'} |" for t in run.targets]
    shares = [f"| {part} | {share:.0%} |" for part, share in run.second["shares"].items()]
    times = {f"store, to {kind}": took for kind, took in run.second["latencies"].items()} | dict(run.asked)
    rows = [f"| {n} | {t['count']:.0f} | {t['p50']:.0f} | {t['p95']:.0f} | {t['most']:.0f} |" for n, t in times.items()]
    return "\n".join(
        [
            f"## {NAMES[run.path]}\n\nLoad averages of a minute: {load}.\n",
            "| what | measured | at most | |\n|---|---|---|---|",
            *targets,
            f"\nThe second driver took {run.pace:.0f} epochs of trials a second.\n",
            "| time of the driver's main thread | share |\n|---|---|",
            *shares,
            "\n| ms, while the driver is saturated | times | median | 95 % | longest |\n|---|---|---|---|---|",
            *rows,
            "",
            _extrapolate(report, run),
        ]
    )


def _extrapolate(report: ScaleReport, run: ScaleRun) -> str:
    """Return the extrapolation to a million trials and a thousand GPUs: what grows with trials grows tenfold."""
    more = MILLION / int(run.plan["trials"])
    plan, resume = (more * float(run.plan["seconds"]), more * float(run.second["first"]))
    of_driver = max(run.first["peak"], run.second["peak"])
    planning, resuming = (
        base + more * (peak - base) for base, peak in ((run.plan["base"], run.plan["peak"]), (BASE, of_driver))
    )
    seconds = GPUS * report.size.pack / run.pace
    store = sum(share for part, share in run.second["shares"].items() if part.startswith("store"))
    status = float(run.asked["sweep status"]["p50"]) / 1000
    waits = run.second["shares"].get("waiting for workers", 0.0)
    return "\n".join(
        [
            f"### {MILLION} trials on {GPUS} GPUs, from these numbers\n",
            f"- **Epochs**: {GPUS} packs of {report.size.pack} keep up with the store as long as an epoch takes "
            f"{seconds:.1f} s or more, at {run.overhead:.2f} ms of the driver's CPU an epoch; {store:.0%} of its time "
            f"is the store's, {waits:.0%} is idle.",
            f"- **Plan**: {plan:.0f} s, once. **Memory**: {planning:.0f} MiB to plan, {resuming:.0f} MiB of a driver "
            f"that resumes. **First pack of a resume**: {resume:.0f} s.",
            "- **To replace first**: sequential transactions on one connection. Reports of different packs are "
            "independent: two writers, each with its own packs, or COPY into the curves if a batch is new.",
            "- **Next**: a round begins by reading a summary of every trial. Packs are leased, read and handed out in "
            "chunks, as many as workers soon need; only the list of open trials, one line each, still makes a resume "
            "and a driver's memory grow. It could be read in parts, too.",
            f"- **Also**: `sweep status` lets the database count its trials each time, {status:.1f} s here: counts "
            "stored with the sweep would answer at once.",
            "",
        ]
    )
