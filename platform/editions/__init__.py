"""Editions: boards published as one folder that never changes."""
