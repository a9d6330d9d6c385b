"""Pages about runs, really served: by a thread of this process, at any free port."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from otherwords.web.run_state import find_runs
from otherwords.web.serving import bind
from otherwords.web.viewing import make_viewer


@contextmanager
def viewing(*paths: Path) -> Iterator[str]:
    """The address of pages about these runs."""
    app = make_viewer(find_runs(paths))
    bound = bind("127.0.0.1", 0)
    config = uvicorn.Config(app, lifespan="off", log_level="critical", access_log=False, server_header=False, ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([bound],))
    thread.start()
    try:
        while not server.started:
            time.sleep(0.005)
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        bound.close()
