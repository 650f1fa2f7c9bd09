"""Packs on Ray Tune, in processes of their own. The driver of a sweep never loads Ray, so Ray cannot end it.

    driver ─ supervisor ─ scheduler (Tune) ─ gcs_server, raylet ─ workers

A sweep of which nothing is asked that only Ray gives begins in ``single_process.py``, which the supervisor starts in
place of the scheduler; it trains packs one after another, and the sweep goes on on Ray where that takes long.

The driver starts the supervisor and reads events, one JSON line each. The supervisor ends all others when the driver
is gone, however it went, or when it says so. They have a session of their own: a terminal's signals reach the driver
alone.

May import: what sweeps may; Ray in this folder alone, and never in client.py or supervisor.py.
To add a kind of event: where it is said in listener.py, and where it is heard in the executor.
"""
