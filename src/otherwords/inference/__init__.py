"""What all local models share: texts become tokens, tokens become batches that fill the machine, order is restored."""
