"""Kernels for NVIDIA GPUs, written in Triton, which comes with torch there; imported only where it is."""
