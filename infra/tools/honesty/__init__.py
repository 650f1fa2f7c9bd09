"""Simulations of how often the platform's statistical claims are wrong."""
