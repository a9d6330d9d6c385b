"""Triton kernels for packed rows of short texts: attention, addition with layer normalisation, GELU. Only for GPUs."""

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
#: Warps to a program by the size of its block, the fastest of 1, 2, 4 and 8 on an H200; of smaller blocks, 1.
WARPS = {64: 4, 128: 8}
#: Sizes of an attention head that the kernel computes.
SIZES = (16, 32, 64, 128)


def attend(joint: Any, offsets: Any, longest: int, heads: int, dtype: Any = None) -> Any:  # gpu only
    """Attention within each row: one program for each row and head, everything in registers.

    `joint` has queries, keys and values side by side, a token to a line; the result is of another `dtype` where one is
    given. The attention of torch works in tiles of 64 or 128 positions, which a pair of 27 tokens leaves mostly empty.
    """
    tokens, width = joint.shape[0], joint.shape[1] // 3
    out = joint.new_empty((tokens, width), dtype=dtype)
    size, block = width // heads, max(16, 1 << (longest - 1).bit_length())
    grid = ((len(offsets) - 1) * heads,)
    _attend[grid](joint, offsets, out, heads, size**-0.5, block=block, size=size, num_warps=WARPS.get(block, 1))
    return out


if triton is not None:  # gpu only

    @triton.jit
    def _as(numbers, place):
        """Numbers of the type that is stored at a place; those too large for float8 become its largest."""
        if place.dtype.element_ty == tl.float8e4nv:
            numbers = tl.where(numbers > 448.0, 448.0, numbers)  # NaN stays NaN
            numbers = tl.where(numbers < -448.0, -448.0, numbers)
        return numbers.to(place.dtype.element_ty)

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
        tl.store(out + line * width + head * size + part[None, :], _as(mixed, out), mask=inside)


def add_norm(x: Any, y: Any, weight: Any, bias: Any, epsilon: float, dtype: Any = None) -> Any:  # gpu only
    """Normalise the lines of `x + y` in one pass over memory, where torch takes two; sums are in single precision.

    The result is returned twice, the second time of another `dtype` where one is given.
    """
    out = x.new_empty(x.shape)
    again = out if dtype is None else x.new_empty(x.shape, dtype=dtype)
    lines, width = x.shape
    block = 1 << (width - 1).bit_length()
    settings = {"twice": dtype is not None, "block": block, "num_warps": min(8, max(1, block // 256))}
    _add_norm[(lines,)](x, y, weight, bias, out, again, width, epsilon, **settings)
    return out, again


if triton is not None:  # gpu only

    @triton.jit
    def _add_norm(x, y, weight, bias, out, again, width, epsilon, twice: tl.constexpr, block: tl.constexpr):
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
        normed = centred / spread * scale + shift
        tl.store(out + at, _as(normed, out), mask=inside)
        if twice:
            tl.store(again + at, _as(normed, again), mask=inside)


def gelu(x: Any, dtype: Any) -> Any:  # gpu only
    """GELU in its tanh form, the result of another `dtype`, in one pass over memory."""
    out, block = x.new_empty(x.shape, dtype=dtype), 2048
    _gelu[(triton.cdiv(x.numel(), block),)](x, out, x.numel(), block=block, num_warps=4)
    return out


if triton is not None:  # gpu only

    @triton.jit
    def _gelu(x, out, count, block: tl.constexpr):
        at = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
        given = tl.load(x + at, mask=at < count, other=0.0).to(tl.float32)
        # x (1 + tanh y) / 2 = x sigmoid(2 y), where y = sqrt(2 / pi) (x + 0.044715 x^3)
        raised = given * tl.sigmoid(1.5957691216 * (given + 0.044715 * given * given * given))
        tl.store(out + at, _as(raised, out), mask=at < count)
