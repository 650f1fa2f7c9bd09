"""The fused time loops in Triton. Only this package imports triton; ``run`` is its front."""
