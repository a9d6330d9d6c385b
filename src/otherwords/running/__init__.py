"""Running a study: its description, its stages on a run folder, and the engine that carries them out."""
