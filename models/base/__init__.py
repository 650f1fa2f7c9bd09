"""Shared code of all models: layers, weights, torch.nn modules, read-out, declaration.

A ``Layer`` has sizes, members, parameters and weights; a ``SequenceLayer`` adds time; a ``Fusable`` layer may run in a
fused loop; a ``Recurrence`` has a step, and a ``MatrixRecurrence`` a step on states with two axes, split by ``heads``.
``Stacked``, ``Delayed`` and ``torch_rnn`` build on recurrences, and ``Blocks`` puts any single-layer recurrence into
residual blocks. A ``GraphLayer`` reads graphs; ``couplings`` has the messages between nodes. The optional packages
PyTorch Geometric and torchrecurrent are imported at first use, only in ``geometric`` and ``torchrecurrent``.

May import: torch, longwave.models.base, longwave.models.kernels, and the batches of longwave.tasks.base; never a model.
To add: code that two model files need goes here; code of one stays in its file.
"""
