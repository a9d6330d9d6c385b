"""Train a judge of equivalence on nli-small's encoder; needs torch and numpy alone, and one GPU.

    train.py MODEL_FOLDER PAIRS OUT NAME [--rank 16] [--without 0,1] [--steps 1000] [--leave-out set,own]

MODEL_FOLDER is the shipped nli-small: its int8 weights are read from the ONNX file without the onnx package. PAIRS is
what pairs.py made. Trains additions of low rank to all maps of the encoder (all weights with --rank 0) and a head;
pairs of the folds --without are not trained on. Writes OUT/NAME.npz, the mean weights over the last steps, and
OUT/NAME-scores.npy, its probabilities of the pairs that are scored.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import struct
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

SEED = 20261117
LAYERS, WIDTH, HEADS = 6, 384, 12


# The shipped file


def fields(data: memoryview):
    """The fields of a protobuf message: number, and value (an integer or bytes)."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        elif kind == 5:
            value, at = struct.unpack("<f", data[at : at + 4])[0], at + 4
        else:
            value, at = struct.unpack("<d", data[at : at + 8])[0], at + 8
        yield number, value


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """An integer and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value, at, shift = value | (byte & 127) << shift, at + 1, shift + 7
        if byte < 128:
            return value, at


def packed(data: memoryview) -> list[int]:
    """Integers one behind the other."""
    found, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


def constants(path: Path) -> dict[str, np.ndarray]:
    """The tensors of an ONNX file by name."""
    model = memoryview(path.read_bytes())
    graph = next(value for number, value in fields(model) if number == 7)
    return dict(tensor(value) for number, value in fields(graph) if number == 5)


def tensor(data: memoryview) -> tuple[str, np.ndarray]:
    """One tensor: float32, int8 or int64."""
    shape, kind, name, raw, floats = [], 1, "", None, []
    for number, value in fields(data):
        if number == 1:
            shape += packed(value) if isinstance(value, memoryview) else [value]
        elif number == 2:
            kind = value
        elif number == 8:
            name = bytes(value).decode()
        elif number == 9:
            raw = bytes(value)
        elif number == 4:
            floats = np.frombuffer(bytes(value), "<f4") if isinstance(value, memoryview) else [*floats, value]
    dtype = {1: "<f4", 3: "i1", 7: "<i8"}[kind]
    array = np.frombuffer(raw, dtype) if raw is not None else np.asarray(floats, dtype)
    return name, array.reshape(shape) if array.size else array


def weights(path: Path) -> dict[str, np.ndarray]:
    """All matrices of the graph in float32, those stored as int8 with their scales applied."""
    found = constants(path)
    for name in [name for name in found if name.endswith(".stored")]:
        short = name.removesuffix(".stored")
        wide = found[name].astype(np.float32) * found[f"{short}.scale"]
        found[short] = wide.reshape(found[f"{short}.shape"]) if f"{short}.shape" in found else wide
    return found


# The encoder


class Layer(nn.Module):
    """A layer of BERT."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.first, self.second = nn.LayerNorm(WIDTH, eps=1e-12), nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, x, mask, p):
        """States in, states out; `p` is the dropout."""
        b, n, _ = x.shape
        q, k, v = (one(x).view(b, n, HEADS, -1).transpose(1, 2) for one in (self.q, self.k, self.v))
        a = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p)
        x = self.first(x + functional.dropout(self.o(a.transpose(1, 2).reshape(b, n, -1)), p, self.training))
        return self.second(x + functional.dropout(self.down(functional.gelu(self.up(x))), p, self.training))


class Encoder(nn.Module):
    """nli-small with its pooler and classifier, and a second head: `equal`."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.types = (
            nn.Embedding(30522, WIDTH),
            nn.Embedding(512, WIDTH),
            nn.Embedding(2, WIDTH),
        )
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.pooler, self.classifier = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 3)
        self.equal = Head()

    def states(self, ids, kinds):
        """The states of all layers, the last one last, and which tokens are real."""
        real = ids != 0
        n = ids.shape[1]
        x = self.norm(self.words(ids) + self.places.weight[:n] + self.types(kinds))
        p = 0.1 if self.training else 0.0
        x = functional.dropout(x, p, self.training)
        mask = real[:, None, None, :]
        found = []
        for layer in self.layers:
            x = layer(x, mask, p)
            found.append(x)
        return found, real

    def forward(self, ids, kinds):
        """Logits of NLI, and features for the second head."""
        found, real = self.states(ids, kinds)
        pooled = torch.tanh(self.pooler(found[-1][:, 0]))
        logits = self.classifier(pooled)
        return logits, self.features(found, real, pooled, kinds)

    def features(self, found, real, pooled, kinds):
        """The pooled state, CLS, the means of both texts, and CLS of the two layers below."""
        last = found[-1]
        parts = [pooled, last[:, 0]]
        for which in (0, 1):
            own = ((kinds == which) & real)[:, :, None].to(last.dtype)
            parts.append((last * own).sum(1) / own.sum(1).clamp(min=1))
        return torch.cat([*parts, found[-2][:, 0], found[-3][:, 0]], 1)


class Head(nn.Module):
    """From the features of both orders of a pair to one logit; the order of the two texts does not matter."""

    def __init__(self, used: int = 4, width: int = 64) -> None:
        super().__init__()
        self.used = used * WIDTH
        self.norm, self.inner, self.out = nn.LayerNorm(self.used), nn.Linear(self.used, width), nn.Linear(2 * width, 1)

    def forward(self, one, other):
        """A logit of equivalence for each pair."""
        a, b = (functional.gelu(self.inner(self.norm(x[:, : self.used]))) for x in (one, other))
        return self.out(torch.cat([a + b, (a - b).abs()], 1))[:, 0]


class LowRank(nn.Module):
    """A linear map with an addition of low rank, which alone is trained."""

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base
        self.down = nn.Parameter(torch.randn(rank, base.in_features) / math.sqrt(base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        """The base map and twice the addition."""
        return self.base(x) + 2 * functional.linear(functional.linear(x, self.down), self.up)


def load(folder: Path) -> Encoder:
    """nli-small from its ONNX file."""
    w = {name: torch.tensor(np.array(value)) for name, value in weights(folder / "model.onnx").items() if value.ndim}
    c = lambda number: w[f"constant_{number}"]  # noqa: E731
    m = Encoder()
    m.words.weight.data, m.places.weight.data, m.types.weight.data = c(0), c(3), c(4)
    m.norm.weight.data, m.norm.bias.data = c(5), c(6)
    for at, layer in enumerate(m.layers):
        start = 7 + 12 * at
        if at < LAYERS - 1:
            parts, bias, rest = c(start).split(WIDTH, 1), c(start + 1), start + 2
        else:
            parts, bias, rest = (c(start + 2), c(start + 3), c(start + 4)), c(start + 5), start + 6
        for one, part, own in zip((layer.q, layer.k, layer.v), parts, bias.split(WIDTH), strict=True):
            one.weight.data, one.bias.data = part.T.contiguous(), own.clone()
        layer.o.weight.data, layer.o.bias.data = c(rest).T.contiguous(), c(rest + 1)
        layer.first.weight.data, layer.first.bias.data = c(rest + 2), c(rest + 3)
        layer.up.weight.data, layer.up.bias.data = c(rest + 4).T.contiguous(), c(rest + 5)
        layer.down.weight.data, layer.down.bias.data = c(rest + 6).T.contiguous(), c(rest + 7)
        layer.second.weight.data, layer.second.bias.data = c(rest + 8), c(rest + 9)
    m.pooler.weight.data, m.pooler.bias.data = c(rest + 10).T.contiguous(), c(rest + 11)
    m.classifier.weight.data, m.classifier.bias.data = c(rest + 12), c(rest + 13)
    return m


# Pairs


class Pairs:
    """Tokens of pairs of texts, on the device."""

    def __init__(self, a: np.ndarray, b: np.ndarray, device: torch.device) -> None:
        self.sizes = (a != 0).sum(1) + (b != 0).sum(1) + 3
        self.a, self.b = (torch.from_numpy(one.astype(np.int32)).to(device) for one in (a, b))
        self.device = device

    def batch(self, rows: np.ndarray, swap: bool = False):
        """Ids and token types of some pairs: first text, second text, each with its end."""
        n = -(-int(self.sizes[rows].max()) // 8) * 8
        at = torch.from_numpy(rows).to(self.device)
        a, b = (self.b[at], self.a[at]) if swap else (self.a[at], self.b[at])
        one, two = ((x != 0).sum(1, keepdim=True) for x in (a, b))
        place = torch.arange(n, device=self.device)[None, :].expand(len(rows), n)
        first = a.gather(1, (place - 1).clamp(0, a.shape[1] - 1)).long()
        second = b.gather(1, (place - one - 2).clamp(0, b.shape[1] - 1)).long()
        ids = torch.where(place <= one, first, second)
        ids = torch.where((place == one + 1) | (place == one + two + 2), 102, ids)
        ids = torch.where(place == 0, 101, torch.where(place > one + two + 2, 0, ids))
        kinds = ((place > one + 1) & (place <= one + two + 2)).long()
        return ids, kinds

    def batches(self, size: int, rows: np.ndarray, rng: np.random.Generator | None = None):
        """Rows of similar length, in random order where `rng` is given."""
        if rng is None:
            order = rows[np.argsort(self.sizes[rows], kind="stable")]
            return [order[at : at + size] for at in range(0, len(order), size)]
        rows, found = rng.permutation(rows), []
        for start in range(0, len(rows), size * 64):
            part = rows[start : start + size * 64]
            part = part[np.argsort(self.sizes[part], kind="stable")]
            found += [part[at : at + size] for at in range(0, len(part), size)]
        return [found[at] for at in rng.permutation(len(found))]


def autocast(device: torch.device):
    """bfloat16 on a GPU."""
    return torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda")


def logits(model: Encoder, pairs: Pairs, rows: np.ndarray) -> torch.Tensor:
    """How the model judges some pairs, read in both orders."""
    with autocast(pairs.device):
        one, two = pairs.batch(rows), pairs.batch(rows, swap=True)
        _, features = model(torch.cat([one[0], two[0]]), torch.cat([one[1], two[1]]))
        return model.equal(*features.chunk(2)).float()


@torch.no_grad()
def predict(model: Encoder, pairs: Pairs, rows: np.ndarray) -> np.ndarray:
    """The probabilities of some pairs."""
    model.eval()
    found = np.zeros(len(pairs.sizes), np.float32)
    for some in pairs.batches(1024, rows):
        found[some] = logits(model, pairs, some).sigmoid().cpu().numpy()
    return found[rows]


# Training


def prepared(start: Encoder, rank: int, device: torch.device):
    """A copy of the encoder with what is trained, and the groups of its parameters."""
    model = copy.deepcopy(start)
    if not rank:
        head = [*model.equal.parameters()]
        rest = [one for key, one in model.named_parameters() if not key.startswith(("equal.", "classifier."))]
        return model.to(device), [{"params": rest, "lr": 1.5e-4}, {"params": head, "lr": 1e-3}]
    for one in model.parameters():
        one.requires_grad_(False)
    model.equal = Head()
    for layer in model.layers:
        for part in ("q", "k", "v", "o", "up", "down"):
            setattr(layer, part, LowRank(getattr(layer, part), rank))
    trained = [one for key, one in model.named_parameters() if one.requires_grad and not key.startswith("equal.")]
    return model.to(device), [{"params": [*model.equal.parameters()], "lr": 1e-3}, {"params": trained, "lr": 1e-3}]


def train(model: Encoder, groups, pairs: Pairs, table, rows: np.ndarray, given, log) -> Encoder:
    """Train what has a gradient; give the mean of its weights, in which late steps count most."""
    rng, start, step, losses = np.random.default_rng(given.seed), time.time(), 0, []
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01, fused=pairs.device.type == "cuda")
    rates = [group["lr"] for group in optimizer.param_groups]
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    mean = [one.detach().clone() for one in parameters]
    label, weight = (torch.from_numpy(table[name]).to(pairs.device) for name in ("label", "weight"))
    turn, passes = 0, int(table["turn"].max()) + 1
    while max(step / given.steps, (time.time() - start) / given.seconds) < 1:
        for some in pairs.batches(given.batch, rows[table["turn"][rows] == turn % passes], rng):
            progress = max(step / given.steps, (time.time() - start) / given.seconds)
            if progress >= 1:
                break
            rate = min(1, step / 200) * (1 - progress)
            for group, full in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = full * rate
            model.train()
            at = torch.from_numpy(some).to(pairs.device)
            want = label[at] * 0.96 + 0.02
            loss = functional.binary_cross_entropy_with_logits(logits(model, pairs, some), want, reduction="none")
            loss = (loss * weight[at]).mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            step += 1
            kept = min(0.998, step / (step + 10))
            torch._foreach_mul_(mean, kept)
            torch._foreach_add_(mean, [one.detach() for one in parameters], alpha=1 - kept)
            if step % 250 == 0:
                losses.append(loss.item())
        turn += 1
        log(f"pass {turn}, step {step}, {time.time() - start:.0f} s, loss {np.mean(losses[-4:] or [0]):.4f}")
    for one, kept in zip(parameters, mean, strict=True):
        one.data.copy_(kept)
    return model


def auc(positive: np.ndarray, negative: np.ndarray) -> float:
    """The share of pairs of a positive and a negative in which the positive has the higher score."""
    scores = np.concatenate([positive, negative])
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    n, m = len(positive), len(negative)
    return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m)) if n and m else float("nan")


def report(asked, scores: np.ndarray, folds: list[int], log) -> None:
    """How well pairs that were not trained on are told apart where a tenth of the sound ones is dropped."""
    label, kind, fold, name = (np.array([one[at] for one in asked]) for at in range(4))
    unseen = np.isin(fold, folds) if folds else np.ones(len(fold), bool)
    name = np.where(np.isin(name, ["d-SNLI", "d-ATOMIC", "d-SOCIAL", "a-NLI"]), "paranlu", name)
    for one in ("broken", "broken-2", "broken-3", "own", "roles", "paranlu", "parte"):
        here = unseen & (name == one)
        good = scores[here & (label == 1)]
        if not len(good):
            continue
        limit, bad = np.quantile(good, 0.1), scores[here & (label == 0)]
        kinds = {
            str(k): round(float((scores[here & (kind == k)] < limit).mean()), 3)
            for k in sorted(set(kind[here & (label == 0)]))
        }
        log(f"{one}: {len(good)} sound, {len(bad)} not, auc {auc(good, bad):.4f}, limit {limit:.3f}, below it {kinds}")


def main() -> None:
    """One judge."""
    parser = argparse.ArgumentParser()
    for name in ("model", "pairs", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("name")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--batch", type=int, default=768)
    parser.add_argument("--seed", type=int, default=20_261_118)
    parser.add_argument("--without", default="")
    parser.add_argument("--leave-out", default="")
    given = parser.parse_args()
    begin = time.time()

    def log(text: str) -> None:
        print(f"{given.name} [{time.time() - begin:.0f}] {text}", flush=True)

    torch.manual_seed(given.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    folds = [int(one) for one in given.without.split(",") if one]
    table = dict(np.load(given.pairs / "table.npz"))
    sources = ("script", "frame", "paraphrase", "set", "own", "row")
    left_out = [sources.index(one) for one in given.leave_out.split(",") if one]
    rows = np.flatnonzero(~np.isin(table["fold"], folds or [99]) & ~np.isin(table["source"], left_out))
    yes = table["label"] > 0.5
    balance = (table["weight"] * ~yes)[rows].sum() / (table["weight"] * yes)[rows].sum()
    table["weight"] = np.where(yes, table["weight"] * min(2.0, balance), table["weight"]).astype(np.float32)
    pairs = Pairs(np.load(given.pairs / "a.npy"), np.load(given.pairs / "b.npy"), device)
    scored = Pairs(np.load(given.pairs / "score-a.npy"), np.load(given.pairs / "score-b.npy"), device)
    asked = json.loads((given.pairs / "score.json").read_text())
    model, groups = prepared(load(given.model), given.rank, device)
    log(f"{len(rows)} pairs, balance {balance:.2f}, {sum(p.numel() for g in groups for p in g['params'])} weights")
    train(model, groups, pairs, table, rows, given, log)
    scores = predict(model, scored, np.arange(len(scored.sizes)))
    np.save(given.out / f"{given.name}-scores.npy", scores.astype(np.float16))
    report(asked, scores, folds, log)
    if given.rank:
        named = {key for key, one in model.named_parameters() if one.requires_grad}
        kept = {key: value.detach().half().cpu().numpy() for key, value in model.state_dict().items() if key in named}
        np.savez(given.out / f"{given.name}.npz", **kept)
    log("done")


if __name__ == "__main__":
    main()
