"""Models that write: prompts in, candidate texts out."""
