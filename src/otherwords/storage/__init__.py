"""Files on disk: atomic writes and locks, tables in the usual formats, and the run folder."""
