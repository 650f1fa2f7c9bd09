"""Fused loops of recurrences whose state has two axes, compiled from a layer's own step."""
