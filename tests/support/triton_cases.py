"""The fused cells' equations in float64, and the Triton backend's distance from them.

``python tests/support/triton_cases.py`` prints the distances in Triton's interpreter if TRITON_INTERPRET is 1, and else
compiles every launch for a GPU. It is a program of its own because Triton reads that variable when it is imported.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, sigmoid, tanh

from longwave.models.kernels.cells import CELLS, Cell

NAMES = ("dx", "dV", "db", "dW", "dP", "dU", "dstate", "dpast")
SCALARS = {
    "lem": [(0.7, 1.3)],
    "cornn": [(0.1, 0.3), (1.7, 0.4), (1.0, 0.6), (0.6, 1.0)],
    "lipschitz_euler": [(0.1, 0.4)],
    "lipschitz_rk2": [(0.1, 0.4)],
    "tau_gru": [(0.7, 1.0), (0.9, 0.5)],
    "unicornn": [(0.9, 5.0)],
}
"""Hyper-parameters of two members, in the order of the cell's scalars."""


@dataclass
class Case:
    """Tensors of a call, in float64 and on the CPU."""

    cell: Cell
    tensors: dict[str, Tensor]
    g_out: Tensor
    g_last: Tensor
    lags: list[int] = field(default_factory=list)


def make(
    name: str,
    steps: int,
    batch: int,
    d: int,
    members: int = 2,
    lags: tuple[int, ...] = (),
    p: int = 3,
) -> Case:
    """Return random tensors of a call."""
    torch.manual_seed(d + steps)
    cell = CELLS[name]
    g, n, h, k = (len(part) for part in (cell.gates, cell.matrices, cell.scalars, cell.vectors))
    ns, m, normal = len(cell.states), max(lags, default=0), partial(torch.randn, dtype=torch.float64)
    scalars = torch.tensor(SCALARS.get(name, []), dtype=torch.float64).view(h, 2).T
    tensors = {
        "x": normal(members, steps, batch, p),
        "V": normal(members, g * d, p) / p**0.5,
        "b": normal(members, g * d) / 3,
        "W": normal(members, n, d, d) / (2 * d**0.5),
        "P": scalars[torch.arange(members) % 2].clone(),
        "U": normal(members, k, d) / 5,
        "state": normal(ns, members, batch, d) / 3,
        "past": normal(members, m, batch, d) / 3,
    }
    if name == "unicornn":
        tensors["U"] = torch.stack([torch.rand(members, d), 0.3 * torch.rand(members, d)], 1).double()
    if name.startswith("lipschitz"):  # a stable linear part
        a = tensors["W"][:, 0]
        tensors["W"][:, 0] = a - a.mT - torch.eye(d)
    tensors = {key: value.float().double() for key, value in tensors.items()}  # the same numbers in float32
    return Case(
        cell,
        tensors,
        normal(members, steps, batch, d).float().double(),
        normal(ns, members, batch, d).float().double(),
        list(lags),
    )


def lem(s: Any, e: Any, m: Any, p: Any, u: Any, late: Tensor) -> Any:
    y, z = s
    z = z + p[0] * sigmoid(e[0] + m(0, y)) * (tanh(e[1] + m(1, y)) - z)
    return y + p[0] * sigmoid(e[2] + m(2, y)) * (tanh(e[3] + m(3, z)) - y), z


def cornn(s: Any, e: Any, m: Any, p: Any, u: Any, late: Tensor) -> Any:
    y, z = s
    dt, gamma, kappa, delta = p
    z = kappa * (delta * z + dt * (tanh(e[0] + m(0, y) + m(1, z)) - gamma * y))
    return y + dt * z, z


def euler(s: Any, e: Any, m: Any, p: Any, u: Any, late: Tensor) -> Any:
    return (s[0] + p[0] * (m(0, s[0]) + tanh(e[0] + m(1, s[0]))),)


def rk2(s: Any, e: Any, m: Any, p: Any, u: Any, late: Tensor) -> Any:
    middle = s[0] + p[0] / 2 * (m(0, s[0]) + tanh(e[0] + m(1, s[0])))
    return (s[0] + p[0] * (m(0, middle) + tanh(e[0] + m(1, middle))),)


def tau_gru(s: Any, e: Any, m: Any, p: Any, u: Any, late: Tensor) -> Any:
    (h,) = s
    new = p[1] * tanh(e[0] + m(0, h)) + p[0] * sigmoid(e[3] + m(3, h)) * tanh(e[1] + m(1, late))
    gate = sigmoid(e[2] + m(2, h))
    return ((1 - gate) * h + gate * new,)


def lstm(s: Any, e: Any, m: Any, p: Any, u: Any, late: Tensor) -> Any:
    i, f, g, o = (e[n] + m(n, s[0]) for n in range(4))
    c = sigmoid(f) * s[1] + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c


def gru(s: Any, e: Any, m: Any, p: Any, u: Any, late: Tensor) -> Any:
    (h,) = s
    r, gate = sigmoid(e[0] + m(0, h)), sigmoid(e[1] + m(1, h))
    return ((1 - gate) * tanh(e[2] + r * (m(2, h) + u[0])) + gate * h,)


def unicornn(s: Any, e: Any, m: Any, p: Any, u: Any, late: Tensor) -> Any:
    y, z = s
    z = z - u[1] * (tanh(u[0] * y + e[0]) + p[0] * y)
    return y + u[1] * z, z


STEPS: dict[str, Callable[..., Any]] = {
    "lem": lem, "cornn": cornn, "lipschitz_euler": euler, "lipschitz_rk2": rk2, "tau_gru": tau_gru, "lstm": lstm,
    "gru": gru, "unicornn": unicornn,
}  # fmt: skip


def reference(case: Case, device: str = "cpu", use_out: bool = True, use_last: bool = True) -> dict[str, Tensor]:
    """Return outputs, last states and all gradients by autograd in float64."""
    leaves = {name: tensor.to(device, copy=True).requires_grad_() for name, tensor in case.tensors.items()}
    x, w, state = leaves["x"], leaves["W"], tuple(leaves["state"])
    members, steps, batch, d = case.g_out.shape
    p = [leaves["P"][:, h, None, None] for h in range(leaves["P"].shape[1])]
    u = [leaves["U"][:, k, None] for k in range(leaves["U"].shape[1])]
    drive = torch.einsum("mtbp,mgp->mtbg", x, leaves["V"]) + leaves["b"][:, None, None]
    seen, m = [*leaves["past"].unbind(1), state[0]], leaves["past"].shape[1]
    for t in range(steps):
        late = torch.stack([seen[t + m - lag][k] for k, lag in enumerate(case.lags)]) if case.lags else state[0]
        state = STEPS[case.cell.name](
            state, drive[:, t].split(d, -1), lambda n, h: torch.einsum("mbj,mij->mbi", h, w[:, n]), p, u, late
        )
        seen.append(state[0])
    out, last = torch.stack(seen[m + 1 :], 1), torch.stack(state)
    loss = use_out * (out * case.g_out.to(device)).sum() + use_last * (last * case.g_last.to(device)).sum()
    grads = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True, materialize_grads=True)
    return {"Y": out.detach(), "last": last.detach()} | dict(zip((f"d{name}" for name in leaves), grads, strict=True))


def fused(
    case: Case, device: str = "cpu", use_out: bool = True, use_last: bool = True, whole: bool = False, **how: Any
) -> dict[str, Tensor]:
    """Return the same from the Triton backend, its new tensors full of NaN; ``whole`` checks the contract's manners."""
    from longwave.models.kernels.triton import run

    torch.set_deterministic_debug_mode("warn")  # also fills new tensors with NaN
    t = {name: tensor.float().to(device) for name, tensor in case.tensors.items()}
    g_out, g_last = case.g_out.float().to(device), case.g_last.float().to(device)
    schedule = how.get("schedule")
    front = (case.cell, t["x"], t["V"], t["b"], t["W"], t["P"], t["U"], t["state"], t["past"], case.lags)
    out, last, *kept = run.forward(*front, True, schedule=schedule)
    back: Any = (
        case.cell, g_out if use_out else None, g_last if use_last else None, t["x"], t["V"], t["W"], t["P"], t["U"],
        out, t["state"], t["past"], case.lags, *kept,
    )  # fmt: skip
    backward: Any = run.backward
    grads = backward(*back, True, **how)
    if whole:
        members, steps, batch, d = out.shape
        shapes = run.kept_shapes(case.cell, members, steps, batch, d, t["past"].shape[1])
        assert [tuple(k.shape) for k in kept] == list(shapes)
        light = run.forward(*front, False, schedule=schedule)
        assert torch.equal(light[0], out) and torch.equal(light[1], last)
        assert light[2].numel() == light[3].numel() == 0
        again = backward(*back, False, **how)
        assert again[0].numel() == 0 and all(map(torch.equal, again[1:], grads[1:]))
        tensors = [k for k in (*t.values(), g_out, g_last, out, last, *kept, *grads) if k.numel()]
        assert len({k.untyped_storage().data_ptr() for k in tensors}) == len(tensors)
        assert all(torch.equal(tensor, case.tensors[name].float().to(device)) for name, tensor in t.items())
    torch.set_deterministic_debug_mode("default")
    return {"Y": out, "last": last} | dict(zip(NAMES, grads, strict=True))


def distance(case: Case, **how: Any) -> dict[str, float]:
    """Return ‖difference‖ / ‖truth‖ of every tensor of the call."""
    uses = {key: how[key] for key in ("device", "use_out", "use_last") if key in how}
    truth, ours = reference(case, **uses), fused(case, **how)
    return {name: _relative(ours[name].double(), truth[name]) for name in ours}


def _relative(ours: Tensor, truth: Tensor) -> float:
    assert ours.shape == truth.shape, (ours.shape, truth.shape)
    norm = truth.norm().item()
    return (ours - truth).norm().item() / norm if norm else ours.abs().sum().item()


def _spread(name: str, **how: Any) -> bool:
    """Return whether NaN in one member's weights and input leaves every bit of the other's results."""
    lags = (2, 3) if name == "tau_gru" else ()
    case = make(name, 2, 1, 5, lags=lags)
    clean = fused(case, **how)
    for key in ("x", "W", "V", "state", "past"):
        case.tensors[key][(slice(None), 1) if key == "state" else 1] = float("nan")
    broken = fused(case, **how)
    axis = {"last": 1, "dstate": 1}
    same = all(torch.equal(clean[k].select(axis.get(k, 0), 0), broken[k].select(axis.get(k, 0), 0)) for k in clean)
    return same and bool(broken["Y"][1].isnan().all())


def interpreted() -> dict[str, dict[str, float]]:
    """Return the distances of all small cases."""
    from longwave.models.kernels.triton import delayed, graph

    graph.WINDOW = 3
    found: dict[str, dict[str, float]] = {}
    for name in CELLS:
        for schedule in ("row", "graph") if name != "unicornn" else ("anchored", "reversible"):
            how: dict[str, Any] = {"schedule": schedule}
            if name == "unicornn":
                how = {"reversible": schedule == "reversible"}
            for d, steps, batch in ((16, 3, 1), (5, 7, 2)) if schedule == "row" else ((16, 3, 2), (5, 7, 5)):
                for lags in ((0, 9), (2, 3)) if name == "tau_gru" else ((),):
                    key = "-".join(map(str, (name, schedule, d, *lags)))
                    found[key] = distance(make(name, steps, batch, d, lags=lags), **how)
            found[f"{name}-{schedule}-NaN stays with its member"] = {"differs": float(not _spread(name, **how))}
    delayed.SHORT = 0
    found["tau_gru-row-chunks-2-3"] = distance(make("tau_gru", 7, 2, 5, lags=(2, 3)), schedule="row", whole=True)
    small = make("lem", 4, 2, 5)
    for schedule in ("row", "graph"):
        found[f"lem-{schedule}-only last"] = distance(small, schedule=schedule, use_out=False)
        found[f"lem-{schedule}-only outputs"] = distance(small, schedule=schedule, use_last=False)
    found["unicornn-contract"] = distance(make("unicornn", 4, 2, 5), whole=True)
    found["lipschitz_rk2-contract"] = distance(make("lipschitz_rk2", 2, 1, 5), whole=True)
    found["gru-contract"] = distance(make("gru", 2, 1, 5), whole=True)
    found["cornn-row-one step"] = distance(make("cornn", 1, 1, 1), schedule="row")
    return found


class Hopper:
    """A driver for a GPU that is not there: Triton compiles for it, and nothing is launched."""

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget  # type: ignore[import-untyped]

        return GPUTarget("cuda", 90, 32)


def compiled() -> dict[str, int]:
    """Run the host's code of all cells with every launch only compiled; return how many launches of each there were."""
    from triton.runtime import driver  # type: ignore[import-untyped]
    from triton.runtime.jit import JITFunction  # type: ignore[import-untyped]

    launch, found = JITFunction.run, dict.fromkeys(CELLS, 0)
    driver.set_active(Hopper())
    for name in CELLS:

        def compile_only(self: Any, *arguments: Any, warmup: bool, cell: str = name, **options: Any) -> Any:
            found[cell] += 1
            return launch(self, *arguments, warmup=True, **options)

        JITFunction.run = compile_only
        for schedule in ("row", "graph"):
            for lags in ((0, 9), (40, 50)) if name == "tau_gru" else ((),):
                fused(make(name, 2, 2, 16, lags=lags), schedule=schedule)
    return found


if __name__ == "__main__":
    print(json.dumps(interpreted() if os.environ.get("TRITON_INTERPRET") == "1" else compiled()))
