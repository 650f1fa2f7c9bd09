"""Trains one trial of a submission again and writes the outcome; ``submission.replays`` starts it.

    trial.py PLUGIN REQUEST ANSWER

PLUGIN is the folder of the code. REQUEST is a JSON file with ``config``, the trial, and ``packed``, whether it was
trained in a pack with others. ANSWER is written: ``trained``, a ``Retraced``; or ``unable``, why it cannot be trained
here.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from longwave.platform.errors import ConfigError
from longwave.platform.exchange.replay import train_again
from longwave.platform.plugins.known import add_plugin
from longwave.platform.records.trial import TrialConfig
from longwave.platform.training.train import out_of_memory, unfit
from longwave.tasks.base.raw import DataError


def train_request(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer; see the module."""
    config = TrialConfig.from_dict(request["config"])
    if why := unfit(config):
        return {"unable": f"it was made {why}"}
    try:
        return {"trained": asdict(train_again(config, config.epochs, request["packed"]))}
    except (ConfigError, DataError) as error:
        return {"unable": str(error).rstrip(".")}
    except Exception as error:
        if out_of_memory(error):
            return {"unable": "it exceeds the memory limit"}
        raise


if __name__ == "__main__":
    plugin, request, answer = map(Path, sys.argv[1:])
    add_plugin(plugin)
    answer.write_text(json.dumps(train_request(json.loads(request.read_text(encoding="utf-8")))), encoding="utf-8")
