"""Packs on Ray Tune, in separate processes. The driver of a sweep never loads Ray, so Ray cannot end it.

    driver ─ supervisor ─ scheduler (Tune) ─ gcs_server, raylet ─ workers

A sweep that does not need Ray from the start begins in ``single_process.py``, which the supervisor starts instead of
the scheduler; it trains packs one after another, and the sweep moves to Ray if that takes long.

The driver starts the supervisor and reads events, one JSON line each. The supervisor ends all other processes when the
driver has ended, for whatever reason, or asks for it. They run in their own session, so that a terminal's signals reach
only the driver.

May import: what sweeps may. Only this folder imports Ray, and client.py and supervisor.py never do.
To add a kind of event: its sender in listener.py, and its handler in the executor.
"""
