"""Batch files of a million requests: processor time and memory to write them, and to read their replies as answers."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from . import isolated

SIZES, TINY_SIZES = (1_000, 1_000_000), (50, 200)
MODEL = "tiny=api:tiny(url=http://127.0.0.1:9/v1, readout=text)"
WORDS = ("entailment", "neutral", "contradiction")
#: Processor time for a million requests, and how much more memory they may take than a thousand.
SECONDS, MEGABYTES = 300, 250

_WORK = """
import time
from otherwords.datasets.source import Source
from otherwords.running.files import answer_files
folder, model, batch = sys.argv[1:]
cpu = time.process_time()
how = {"batch_out": f"{folder}/requests.jsonl"} if batch == "out" else {"batch_in": [f"{folder}/replies.jsonl"]}
out = "" if batch == "out" else f"{folder}/answers.parquet"
cache = f"{folder}/cache.sqlite"
done = answer_files(Source([f"{folder}/problems.jsonl"]), out, [model], cache=cache, canary=False, **how)
report(rows=done.batched if batch == "out" else done.rows, cpu=time.process_time() - cpu)
"""


def run(tiny: bool = False) -> list[dict[str, Any]]:
    sizes = TINY_SIZES if tiny else SIZES
    found = [_measured(size) for size in sizes]
    detail = "; ".join(
        f"{size:,} requests ({one['out_mb']:.0f} MB) written in {one['out']['cpu']:.0f} s of processor time, peak "
        f"{one['out']['peak_mb']:.0f} MB; their replies ({one['in_mb']:.0f} MB) read in {one['in']['cpu']:.0f} s, peak "
        f"{one['in']['peak_mb']:.0f} MB"
        for size, one in zip(sizes, found, strict=True)
    )
    small, large = found
    seconds = large["out"]["cpu"] + large["in"]["cpu"]
    more = max(large[way]["peak_mb"] - small[way]["peak_mb"] for way in ("out", "in"))
    claims = (
        ("processor time of both", seconds, "s", SECONDS),
        ("peak memory above that of few", more, "MB", MEGABYTES),
    )
    return [
        {"claim": f"{sizes[1]:,} requests as a batch, {what}", "measured": measured, "unit": unit, "at_most": most}
        | {"detail": detail}
        for what, measured, unit, most in claims
    ]


def _measured(size: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with (folder / "problems.jsonl").open("w") as rows:
            for number in range(size):
                texts = {"premise": f"Person {number} walks home.", "hypothesis": f"Somebody walks {number} miles."}
                rows.write(json.dumps({"id": str(number), **texts, "label": WORDS[number % 3]}) + "\n")
        written = isolated.run(_WORK, place, MODEL, "out")
        with (folder / "requests.jsonl").open() as requests, (folder / "replies.jsonl").open("w") as replies:
            for number, line in enumerate(requests):
                message = {"role": "assistant", "content": WORDS[number % 3]}
                body = {"model": "tiny", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
                body |= {"usage": {"prompt_tokens": 90, "completion_tokens": 1, "total_tokens": 91}}
                reply = {"id": f"batch_{number}", "custom_id": json.loads(line)["custom_id"], "error": None}
                reply["response"] = {"status_code": 200, "request_id": str(number), "body": body}
                replies.write(json.dumps(reply) + "\n")
        read = isolated.run(_WORK, place, MODEL, "in")
        assert written["rows"] == read["rows"] == size
        sizes = (folder / name for name in ("requests.jsonl", "replies.jsonl"))
        out_mb, in_mb = (path.stat().st_size / 1e6 for path in sizes)
    return {"out": written, "in": read, "out_mb": out_mb, "in_mb": in_mb}
