"""An S3 service on the loopback (moto), for tests on an object store."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

KEYS = {
    "AWS_ACCESS_KEY_ID": "loopback",
    "AWS_SECRET_ACCESS_KEY": "loopback",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@contextmanager
def service() -> Iterator[str]:
    """Yield the address of a running S3 service; skip the test if moto or s3fs is not installed."""
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    server_module = pytest.importorskip("moto.server", reason="moto is not installed")
    before = {name: os.environ.get(name) for name in KEYS}
    os.environ.update(KEYS)
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.stop()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def bucket(endpoint: str) -> str:
    """Create a bucket and return its URL."""
    import s3fs

    name = f"readbench-{uuid.uuid4().hex[:8]}"
    s3fs.S3FileSystem(endpoint_url=endpoint, use_listings_cache=False).mkdir(name)
    return f"s3://{name}"
