"""What all models share: layers from members to time, weights, modules of torch.nn's kind, read-out, declaration.

A ``Layer`` holds sizes, members, parameters and weights; a ``SequenceLayer`` has time, a ``Fusable`` one perhaps a
fused loop, a ``Recurrence`` a step, a ``MatrixRecurrence`` one on states with two axes, which ``heads`` cut, read and
write. ``Stacked``, ``Delayed`` and torch's own build on recurrences, and ``Blocks`` puts any of one layer into residual
blocks. A ``GraphLayer`` reads graphs; ``couplings`` has what nodes hear, and ``geometric`` alone reaches PyTorch
Geometric, ``torchrecurrent`` that package, when they are first needed.

May import: torch, longwave.models.base, longwave.models.kernels, and the batches of longwave.tasks.base; never a model.
To add: what two model files need goes here; what one needs stays in its file.
"""
