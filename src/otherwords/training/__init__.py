"""Fine-tuning: what the embedded models and the invariance test's models are made with.

The front (`recipe`, `gathering`, `apart`, `recombining`, `making`) makes a folder of a recipe and its data. All else is
the core, which imports nothing but torch, transformers and numpy, so that a bare GPU machine can carry out what was
prepared: `python -m otherwords.training FOLDER`.
"""
