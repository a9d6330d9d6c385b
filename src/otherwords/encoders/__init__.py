"""Sentence encoders: texts in, vectors of unit length out."""
