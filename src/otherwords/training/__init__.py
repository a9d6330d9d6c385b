"""Fine-tuning: what the embedded models and the invariance test's models are made with.

The core (`settings`, `examples`, `objectives`, `checkpoints`, `history`, `teaching`, `finetuning`) imports nothing but
torch, transformers and numpy, so that it runs on a bare GPU machine: `python -m otherwords.training FOLDER`.
"""
