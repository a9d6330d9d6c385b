"""Masked language models: what may stand at a masked place of a text, and how likely what stood there was."""
