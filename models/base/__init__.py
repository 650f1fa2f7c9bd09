"""Shared code of all models: layers, weights, torch.nn modules, read-out, declaration.

A ``Layer`` holds sizes, members, parameters and weights; a ``SequenceLayer`` adds time, a ``Fusable`` one may have a
fused loop, a ``Recurrence`` has a step, a ``MatrixRecurrence`` one on states with two axes, split by ``heads``.
``Stacked``, ``Delayed`` and ``torch_rnn`` build on recurrences, and ``Blocks`` puts any single-layer recurrence into
residual blocks. A ``GraphLayer`` reads graphs; ``couplings`` has the messages between nodes. Only ``geometric`` imports
PyTorch Geometric and only ``torchrecurrent`` that package, at first use.

May import: torch, longwave.models.base, longwave.models.kernels, and the batches of longwave.tasks.base; never a model.
To add: code that two model files need goes here; code of one stays in its file.
"""
