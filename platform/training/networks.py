"""The network of trials of one shape, from their configurations."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from longwave.models.base.network import Network, Vocabulary
from longwave.models.base.spec import Sizes
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_model, get_task
from longwave.platform.training.precision import PRECISIONS
from longwave.platform.training.rules import DROPOUTS


def network_of(configs: Sequence[TrialConfig], positions: int, embedding: Tensor | None = None) -> Network:
    """Return the initial network of a pack, with one member per trial, on the CPU.

    Args:
        configs: Trials of one shape.
        positions: Positions of an example of the task's data; some initialisations need it.
        embedding: Initial token embedding, (V, p), or None for N(0, 1).
    """
    first, model, task = configs[0], get_model(configs[0].model), get_task(configs[0].task)
    sizes = Sizes(task.inputs, first.hidden, task.outputs, positions, first.width)
    hyper = {p.name: [c.params[p.name] for c in configs] for p in model.params if p.name in first.params}
    dropouts = {name: [c.params[name] for c in configs] for name in DROPOUTS if name in first.params}
    words, dtype = Vocabulary(task.tokens, embedding), PRECISIONS[first.precision]
    return Network(model, sizes, hyper, [c.seed for c in configs], first.options, dtype, words, dropouts)
