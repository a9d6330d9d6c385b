"""Addition and layer normalisation in one pass over memory, where torch takes two; sums are in single precision."""
# mypy: ignore-errors
# Triton reads the source of its functions: annotations must be objects, so there is no `from __future__` here.

from typing import Any

try:
    import triton
    import triton.language as tl
except ImportError:  # it comes with torch for NVIDIA GPUs, and with no other
    triton = None


def add_norm(x: Any, y: Any, weight: Any, bias: Any, epsilon: float) -> Any:  # gpu only
    """Normalise the lines of `x + y`."""
    out = x.new_empty(x.shape)
    lines, width = x.shape
    block = 1 << (width - 1).bit_length()
    _add_norm[(lines,)](x, y, weight, bias, out, width, epsilon, block=block, num_warps=min(8, max(1, block // 256)))
    return out


if triton is not None:  # gpu only

    @triton.jit
    def _add_norm(x, y, weight, bias, out, width, epsilon, block: tl.constexpr):
        part = tl.arange(0, block)
        inside = part < width
        at = tl.program_id(0).to(tl.int64) * width + part
        total = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
        total += tl.load(y + at, mask=inside, other=0.0).to(tl.float32)
        mean = tl.sum(total, axis=0) / width
        apart = tl.where(inside, total - mean, 0.0)
        spread = tl.sqrt(tl.sum(apart * apart, axis=0) / width + epsilon)
        scale = tl.load(weight + part, mask=inside, other=0.0).to(tl.float32)
        shift = tl.load(bias + part, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + at, (apart / spread * scale + shift).to(x.dtype.element_ty), mask=inside)
