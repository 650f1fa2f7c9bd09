"""Packs on Ray Tune, in processes of their own. The driver of a sweep never loads Ray, so Ray cannot end it.

    driver ─ supervisor ─ scheduler (Tune) ─ gcs_server, raylet ─ workers

A sweep that needs nothing that only Ray provides begins in ``single_process.py``, which the supervisor starts instead
of the scheduler; it trains packs one after another, and the sweep moves to Ray if that takes long.

The driver starts the supervisor and reads events, one JSON line each. The supervisor ends all other processes when the
driver has gone, for whatever reason, or when it asks for that. They have a session of their own: a terminal's signals
reach only the driver.

May import: what sweeps may. Only this folder imports Ray, and client.py and supervisor.py never do.
To add a kind of event: its sender in listener.py, and its handler in the executor.
"""
