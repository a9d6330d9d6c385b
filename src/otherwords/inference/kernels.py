"""Triton kernels for packed rows of short texts: attention, and addition with layer normalisation. Only for GPUs."""

# mypy: ignore-errors
# Triton reads the source of its functions: annotations must be objects, so there is no `from __future__` here.

from typing import Any

try:
    import triton
    import triton.language as tl
except ImportError:  # it comes with torch for NVIDIA GPUs only
    triton = None

AVAILABLE = triton is not None
#: Longer rows have more scores than fit into registers.
LONGEST = 128
#: Sizes of an attention head that the kernel computes.
SIZES = (16, 32, 64, 128)


def attend(joint: Any, offsets: Any, longest: int, heads: int) -> Any:  # gpu only
    """Attention within each row: one program for each row and head, everything in registers.

    `joint` has queries, keys and values side by side, a token to a line. The attention of torch works in tiles of 64
    or 128 positions, which a pair of 27 tokens leaves mostly empty.
    """
    tokens, width = joint.shape[0], joint.shape[1] // 3
    out = joint.new_empty((tokens, width))
    size, block = width // heads, max(16, 1 << (longest - 1).bit_length())
    grid = ((len(offsets) - 1) * heads,)
    _attend[grid](joint, offsets, out, heads, size**-0.5, block=block, size=size, num_warps=max(1, block // 32))
    return out


if triton is not None:  # gpu only

    @triton.jit
    def _attend(joint, offsets, out, heads, scale, block: tl.constexpr, size: tl.constexpr):
        row = tl.program_id(0) // heads
        head = tl.program_id(0) % heads
        first = tl.load(offsets + row)
        length = tl.load(offsets + row + 1) - first
        place = tl.arange(0, block)
        part = tl.arange(0, size)
        width = heads * size
        inside = place[:, None] < length
        line = (first + place)[:, None].to(tl.int64)
        at = joint + line * (3 * width) + head * size + part[None, :]
        query = tl.load(at, mask=inside, other=0.0)
        key = tl.load(at + width, mask=inside, other=0.0)
        value = tl.load(at + 2 * width, mask=inside, other=0.0)
        scores = tl.dot(query, tl.trans(key)) * scale
        scores = tl.where(place[None, :] < length, scores, float("-inf"))
        powers = tl.exp(scores - tl.max(scores, axis=1)[:, None])
        shares = powers / tl.sum(powers, axis=1)[:, None]
        mixed = tl.dot(shares.to(value.dtype), value)
        tl.store(out + line * width + head * size + part[None, :], mixed.to(value.dtype), mask=inside)


def add_norm(x: Any, y: Any, weight: Any, bias: Any, epsilon: float) -> Any:  # gpu only
    """Normalise the lines of `x + y` in one pass over memory, where torch takes two; sums are in single precision."""
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
        centred = tl.where(inside, total - mean, 0.0)
        spread = tl.sqrt(tl.sum(centred * centred, axis=0) / width + epsilon)
        scale = tl.load(weight + part, mask=inside, other=0.0).to(tl.float32)
        shift = tl.load(bias + part, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + at, (centred / spread * scale + shift).to(x.dtype.element_ty), mask=inside)
