"""Sweeps: settings, the plan of trials, packs on Ray, the driver."""
