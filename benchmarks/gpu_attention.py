"""A Triton kernel for attention over short rows: one program per row and head, everything in registers."""

# Triton reads the source of this function: it needs its annotations as objects, and its names global.
import triton
import triton.language as tl


@triton.jit
def kernel(
    query,
    key,
    value,
    out,
    q_row,
    q_head,
    q_place,
    k_row,
    k_head,
    k_place,
    v_row,
    v_head,
    v_place,
    heads,
    length,
    scale,
    block: tl.constexpr,
    size: tl.constexpr,
):
    row = (tl.program_id(0) // heads).to(tl.int64)
    head = tl.program_id(0) % heads
    place = tl.arange(0, block)[:, None]
    part = tl.arange(0, size)[None, :]
    inside = place < length
    q = tl.load(query + row * q_row + head * q_head + place * q_place + part, mask=inside, other=0.0)
    k = tl.load(key + row * k_row + head * k_head + place * k_place + part, mask=inside, other=0.0)
    v = tl.load(value + row * v_row + head * v_head + place * v_place + part, mask=inside, other=0.0)
    scores = tl.dot(q, tl.trans(k)) * scale
    scores = tl.where(tl.arange(0, block)[None, :] < length, scores, float("-inf"))
    powers = tl.exp(scores - tl.max(scores, axis=1)[:, None])
    shares = powers / tl.sum(powers, axis=1)[:, None]
    found = tl.dot(shares.to(v.dtype), v)
    at = ((row * length + place) * heads + head) * size + part
    tl.store(out + at, found.to(v.dtype), mask=inside)
