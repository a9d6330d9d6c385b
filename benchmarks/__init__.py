"""Each claim of speed or memory, as a ratio against a named peer in the same run. `python -m benchmarks [NAME...]`."""
