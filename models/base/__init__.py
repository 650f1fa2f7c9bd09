"""What all models share: parameters, the recurrence and its time loop, stacks, delays, read-out, declaration.

May import: torch, longwave.models.base, longwave.models.kernels; never a model.
To add: what two model files need goes here; what one needs stays in its file.
"""
