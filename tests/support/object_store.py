"""An S3 object store in this process, for this process and those it starts."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from s3fs import S3FileSystem


@contextmanager
def bucket() -> Iterator[str]:
    """Run a server with an empty bucket inside the block, set it in the environment, and yield the bucket's URL."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        settings = {"ENDPOINT_URL": f"http://{host}:{port}", "ACCESS_KEY_ID": "own", "SECRET_ACCESS_KEY": "own"}
        for name, value in {**settings, "DEFAULT_REGION": "us-east-1"}.items():
            patch.setenv(f"AWS_{name}", value)
        name = f"longwave-{secrets.token_hex(4)}"
        S3FileSystem(skip_instance_cache=True).mkdir(name)
        try:
            yield f"s3://{name}"
        finally:
            server.stop()
            S3FileSystem.clear_instance_cache()  # otherwise a cached connection to another server would be used
