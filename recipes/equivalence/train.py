"""Train equivalence judges on nli-small's encoder; needs torch, tokenizers and numpy alone, and one GPU.

    train.py MODEL_FOLDER JUDGE.json.xz EVAL.json.xz OUT [--tiny]

MODEL_FOLDER is the shipped nli-small: its int8 weights are read from the ONNX file without the onnx package. Trains a
head on the frozen encoder, the last layer, low-rank adapters, and the whole encoder with two heads (it keeps to what
nli-small itself says of NLI). Writes predictions, a report by kind, and the weights.
"""

from __future__ import annotations

import argparse
import copy
import json
import lzma
import math
import random
import re
import struct
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
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


def article(word: str) -> str:
    """The indefinite article before a word, by its letters."""
    word = word.lower()
    if re.match(r"hour|honest|honor|heir", word):
        return "an"
    return "an" if word[0] in "aeiou" and not re.match(r"uni|use|eu|one\b|once|ut", word) else "a"


def edited(text: str, edits) -> str:
    """The text with all edits made, as edits.py does it."""
    new = text
    for start, end, what in sorted(edits, reverse=True):
        new = new[:start] + what + new[end:]
    new = re.sub(r"\s+", " ", new).strip()
    new = re.sub(r"\s+([.,;:!?])", r"\1", new)
    new = re.sub(r"^[,;:]\s*", "", new)
    new = re.sub(r"\b([Aa])n? (?=([A-Za-z]+))", lambda m: (m[1] + article(m[2])[1:]) + " ", new)
    return new[:1].upper() + new[1:] if text[:1].isupper() else new


def free(one, other) -> bool:
    """Whether no edit of one change touches an edit of the other."""
    return all(a[1] < b[0] or b[1] < a[0] for a in one for b in other)


def scripted(groups, rng: random.Random, plain: bool):
    """Pairs of each sentence and its changes: text, text, whether equivalent, kind; composed ones unless `plain`."""
    for group in groups:
        text, good, bad = group["t"], group["g"], group["b"]
        for kind, edits in bad:
            yield from one_pair(text, kind, edits, [g for _, g in good], rng, plain, 0)
        for place, (kind, edits) in enumerate(good):
            yield from one_pair(text, kind, edits, [g for at, (_, g) in enumerate(good) if at != place], rng, plain, 1)
        if not plain and rng.random() < 0.05:
            yield text, text, 1, "same"


def one_pair(text, kind, edits, others, rng, plain, label):
    """One change, or with one that keeps the meaning: in the same text, or in the other."""
    left, right, free_ones = [], list(edits), [one for one in others if free(one, edits)]
    if not plain and free_ones and rng.random() < 0.45:
        (right if rng.random() < 0.6 else left).extend(rng.choice(free_ones))
    elif not plain and others and rng.random() < 0.2:
        left = list(rng.choice(others))
    a, b = edited(text, left) if left else text, edited(text, right)
    if a != b:
        yield (a, b, label, kind) if rng.random() < 0.5 else (b, a, label, kind)


def draw(groups, turn: int):
    """The scripted pairs of one pass, composed anew."""
    return list(scripted(groups, random.Random(SEED + 1 + turn), plain=False))


def read(path: Path):
    """A compressed JSON file."""
    return json.loads(lzma.decompress(path.read_bytes()))


def unpack(path: Path):
    """The data: texts, rows, natural pairs with cosines, and groups of changes."""
    data = read(path)
    texts = data["texts"]
    for group in data["groups"]:
        group["t"] = texts[group["t"]] if isinstance(group["t"], int) else group["t"]
    steps, second, cosine = data["similar"]
    first = np.cumsum(steps)
    data["pairs"] = [
        (texts[a], texts[b], c / 100, data["held"][a]) for a, b, c in zip(first, second, cosine, strict=True)
    ]
    data["rows"] = [(texts[a], texts[b], y, data["held"][a]) for a, b, y in data["rows"]]
    return data


class Pairs:
    """Tokenized pairs of texts."""

    def __init__(self, tokenizer: Tokenizer, pairs) -> None:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair[:2]))
        ids = {
            text: one.ids[:60]
            for text, one in zip(texts, tokenizer.encode_batch(texts, add_special_tokens=False), strict=True)
        }
        self.a, self.b = [ids[pair[0]] for pair in pairs], [ids[pair[1]] for pair in pairs]
        self.sizes = np.array([len(a) + len(b) + 3 for a, b in zip(self.a, self.b, strict=True)])

    def __len__(self) -> int:
        return len(self.a)

    def batch(self, rows, device, swap=False):
        """Ids and token types of some pairs."""
        n = -(-int(self.sizes[rows].max()) // 8) * 8
        ids, kinds = np.zeros((len(rows), n), np.int64), np.zeros((len(rows), n), np.int64)
        for at, row in enumerate(rows):
            a, b = (self.b[row], self.a[row]) if swap else (self.a[row], self.b[row])
            whole = [101, *a, 102, *b, 102]
            ids[at, : len(whole)] = whole
            kinds[at, len(a) + 2 : len(whole)] = 1
        return torch.from_numpy(ids).to(device, non_blocking=True), torch.from_numpy(kinds).to(
            device, non_blocking=True
        )

    def batches(self, size: int, rng: np.random.Generator | None = None, of=None):
        """Rows of similar length, in random order where `rng` is given."""
        rows = np.arange(len(self)) if of is None else np.asarray(of)
        if rng is None:
            order = rows[np.argsort(self.sizes[rows], kind="stable")]
            return [order[at : at + size] for at in range(0, len(order), size)]
        rows = rng.permutation(rows)
        found = []
        for start in range(0, len(rows), size * 64):
            part = rows[start : start + size * 64]
            part = part[np.argsort(self.sizes[part], kind="stable")]
            found += [part[at : at + size] for at in range(0, len(part), size)]
        return [found[at] for at in rng.permutation(len(found))]


def autocast(device):
    """bfloat16 on a GPU."""
    return torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda")


@torch.no_grad()
def predict(model: Encoder, pairs: Pairs, device, judge: bool):
    """Entailment probabilities of both directions of each pair, and its probability of equivalence."""
    model.eval()
    nli, equal = np.zeros((len(pairs), 2, 3), np.float32), np.zeros(len(pairs), np.float32)
    for rows in pairs.batches(1024):
        features = []
        for swap in (False, True):
            with autocast(device):
                logits, feature = model(*pairs.batch(rows, device, swap))
            nli[rows, int(swap)] = logits.float().softmax(1).cpu().numpy()
            features.append(feature)
        if judge:
            with autocast(device):
                equal[rows] = model.equal(*features).float().sigmoid().cpu().numpy()
    return nli, equal


def auc(positive, negative) -> float:
    """The share of pairs of a positive and a negative in which the positive has the higher score."""
    scores = np.concatenate([positive, negative])
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    n, m = len(positive), len(negative)
    return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m)) if n and m else float("nan")


def by_kind(held, scores):
    """Of each kind: how many, the share on the right side of one half, and how well it is told from the other class."""
    label = np.array([one[2] for one in held])
    kinds = np.array([f"{'+' if one[2] else '-'} {one[3]}" for one in held])
    found = {"auc": auc(scores[label == 1], scores[label == 0]), "right": float(((scores > 0.5) == label).mean())}
    # At the score that drops a tenth of the good ones
    limit = float(np.quantile(scores[label == 1], 0.1))
    found["dropped at 10 % false drops"] = float((scores[label == 0] < limit).mean())
    found["kinds"] = {}
    for kind in sorted(set(kinds)):
        own = scores[kinds == kind]
        found["kinds"][kind] = {
            "n": len(own),
            "right": float(((scores > 0.5) == label)[kinds == kind].mean()),
            "below": float((own < limit).mean()),
            "auc": auc(own, scores[label == 0]) if kind[0] == "+" else auc(scores[label == 1], own),
        }
    return found


# Training


def train(model, groups, sets, targets, device, budget, epochs, batch, log, name, teach=None):
    """Train what has a gradient until the epochs or the seconds are over; `teach` are NLI pairs to keep to."""
    rng, start = np.random.default_rng(SEED), time.time()
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    rates = [group["lr"] for group in optimizer.param_groups]
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    total, step, losses = epochs * sum(map(len, sets)) / len(sets) / batch, 0, []
    turns = iter([])
    for epoch in range(epochs):
        pairs, (target, weight) = sets[epoch % len(sets)], targets[epoch % len(sets)]
        for rows in pairs.batches(batch, rng):
            progress = max(step / total, (time.time() - start) / budget)
            if progress >= 1:
                break
            rate = min(1, step / 200) * (1 - progress)
            for group, full in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = full * rate
            model.train(name != "frozen")
            with autocast(device):
                both = zip(pairs.batch(rows, device), pairs.batch(rows, device, swap=True), strict=True)
                _, features = model(*(torch.cat(two) for two in both))
                logit = model.equal(*features.chunk(2)).float()
                want = torch.from_numpy(target[rows]).to(device)
                loss = (
                    functional.binary_cross_entropy_with_logits(logit, want, reduction="none")
                    * torch.from_numpy(weight[rows]).to(device)
                ).mean()
                if teach is not None:
                    some = next(turns, None)
                    if some is None:
                        turns = iter(teach[0].batches(batch, rng))
                        some = next(turns)
                    logits, _ = model(*teach[0].batch(some, device))
                    targets = torch.from_numpy(teach[1][some]).to(device)
                    loss = loss + functional.kl_div(logits.float().log_softmax(1), targets, reduction="batchmean")
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            step += 1
            if step % 100 == 0:
                losses.append(loss.item())
        recent = np.mean(losses[-10:] or [0])
        log(f"{name}: epoch {epoch + 1}, step {step}, {time.time() - start:.0f} s, loss {recent:.4f}")
    return model


def freeze(model: nn.Module) -> None:
    """No gradient anywhere."""
    for one in model.parameters():
        one.requires_grad_(False)


def variant(name: str, start: Encoder, device):
    """A copy of the start model in which one variant's parameters are trained, and their groups."""
    model = copy.deepcopy(start)
    if name == "joint" or name == "full":
        head = [*model.equal.parameters()]
        rest = [one for key, one in model.named_parameters() if not key.startswith("equal.")]
        return model.to(device), [{"params": rest, "lr": 1.5e-4}, {"params": head, "lr": 1e-3}]
    freeze(model)
    model.equal = Head(6, 128) if name == "frozen" else Head()
    trained = []
    if name == "last":
        trained = [*model.layers[-1].parameters(), *model.pooler.parameters()]
        for one in trained:
            one.requires_grad_(True)
    if name == "lora":
        for layer in model.layers:
            for part in ("q", "k", "v", "o", "up", "down"):
                setattr(layer, part, LowRank(getattr(layer, part), 8))
        trained = [one for key, one in model.named_parameters() if one.requires_grad and not key.startswith("equal.")]
    groups = [{"params": [*model.equal.parameters()], "lr": 1e-3}]
    groups += [{"params": trained, "lr": 1e-3 if name == "lora" else 3e-4}] if trained else []
    return model.to(device), groups


def trained_weights(model: Encoder, whole: bool) -> dict[str, np.ndarray]:
    """What was trained, in half precision."""
    named = {key for key, one in model.named_parameters() if whole or one.requires_grad}
    return {key: value.detach().half().cpu().numpy() for key, value in model.state_dict().items() if key in named}


def save(out: Path, name: str, found: dict[str, np.ndarray]) -> dict[str, list[int]]:
    """Write weights one behind the other in three files; give their shapes, in order."""
    flat = np.concatenate([value.ravel() for value in found.values()])
    for place, part in enumerate(np.array_split(flat, 3)):
        np.save(out / f"{name}-{place}.npy", part)
    return {key: list(value.shape) for key, value in found.items()}


def soft_targets(pairs, gold, nli):
    """How equivalent natural pairs are: mutual entailment and cosine together; 0 where people say neutral or worse."""
    mutual = nli[:, :, 0].min(1)
    near = np.clip((np.array([one[2] for one in pairs]) - 0.5) / 0.4, 0, 1)
    target = np.sqrt(mutual * near)
    no = np.array([gold.get((a, b), gold.get((b, a), 0)) > 0 for a, b, *_ in pairs])
    return np.where(no, np.minimum(target, 0.05), target).astype(np.float32)


def main() -> None:
    """Everything, in order of worth; what is done is written at once."""
    parser = argparse.ArgumentParser()
    for name in ("model", "data", "eval", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--variants", default="frozen:35,lora:110,joint:190,last:45")
    given = parser.parse_args()
    begin = time.time()
    lines = []

    def log(text: str) -> None:
        lines.append(f"[{time.time() - begin:.0f}] {text}")
        print(lines[-1], flush=True)
        (given.out / "log.txt").write_text("\n".join(lines) + "\n")

    torch.manual_seed(SEED)
    tokenizer = Tokenizer.from_file(str(given.model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    data, ask = unpack(given.data), read(given.eval)
    if given.tiny:
        data["groups"], data["pairs"], data["rows"], ask = (
            data["groups"][::300],
            data["pairs"][::500],
            data["rows"][::300],
            ask[::1000],
        )
    own = [one for one in data["groups"] if not one["h"]]
    turns = range(1 if given.tiny else 3)
    with ProcessPoolExecutor(len(turns), mp_context=get_context("fork")) as pool:  # before CUDA and threads begin
        drawn = list(pool.map(draw, [own] * len(turns), turns))
    log(f"drew {[len(one) for one in drawn]} pairs")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    start = load(given.model).to(device)
    sizes = f"{len(data['groups'])} groups, {len(data['pairs'])} natural pairs, {len(data['rows'])} rows"
    log(f"loaded on {device}: {sizes}")

    held = list(scripted([one for one in data["groups"] if one["h"]], random.Random(SEED), plain=True))
    gold = {(a, b): y for a, b, y, _ in data["rows"]}
    natural = [one for one in data["pairs"] if not one[3]]
    natural_pairs, held_pairs, ask_pairs = (
        Pairs(tokenizer, some) for some in (natural, held, [one[1:3] for one in ask])
    )
    target = soft_targets(natural, gold, predict(start, natural_pairs, device, False)[0])
    log(f"natural pairs: {len(natural)}, {(target > 0.5).mean():.3f} above one half; held out: {len(held)}")
    held_natural = [one for one in data["pairs"] if one[3]]
    held_natural_pairs = Pairs(tokenizer, held_natural)
    base, _ = predict(start, held_pairs, device, False)
    ask_base, _ = predict(start, ask_pairs, device, False)
    held_target = soft_targets(held_natural, gold, predict(start, held_natural_pairs, device, False)[0])
    report = {"mutual entailment": by_kind(held, base[:, :, 0].min(1))}
    scores = {"held mutual": base[:, :, 0].min(1), "ask mutual": ask_base[:, :, 0].min(1)}
    with lzma.open(given.out / "held.jsonl.xz", "wt") as file:
        file.writelines(json.dumps(one) + "\n" for one in held)

    sets, targets = [], []
    for turn, made in enumerate(drawn):
        yes = np.array([one[2] for one in made], np.float32)
        weight = np.where(yes == 1, min(2.0, (1 - yes).sum() / max(1, yes.sum())), 1.0)
        rng = random.Random(SEED + 50 + turn)
        chance = [(rng.choice(natural)[0], rng.choice(natural)[1]) for _ in range(len(made) // 30)]
        sets.append(Pairs(tokenizer, [*made, *natural, *chance]))
        targets.append(
            (
                np.concatenate([yes * 0.96 + 0.02, target, np.zeros(len(chance), np.float32)]).astype(np.float32),
                np.concatenate([weight, np.ones(len(natural) + len(chance))]).astype(np.float32),
            )
        )
    log(f"training pairs: {[len(one) for one in sets]}, scripted {len(made)}, positive {yes.mean():.3f}")

    rows = [one for one in data["rows"] if not one[3]]
    rng = random.Random(SEED + 99)
    firsts, seconds = [one[0] for one in rows], [one[1] for one in rows]
    shuffled = [(rng.choice(firsts), rng.choice(seconds)) for _ in range(len(rows))]
    taught = [*[(a, b) for a, b, *_ in rows], *shuffled, *[(a, b) for a, b, *_ in natural]]
    taught_pairs = Pairs(tokenizer, taught)
    teacher = predict(start, taught_pairs, device, False)[0][:, 0]
    held_rows = [one for one in data["rows"] if one[3]]
    held_row_pairs = Pairs(tokenizer, held_rows)
    before = predict(start, held_row_pairs, device, False)[0][:, 0].argmax(1)
    y = np.array([one[2] for one in held_rows])
    log(f"NLI pairs to keep to: {len(taught)}; nli-small on held-out rows {(before == y).mean():.4f}")

    small: dict[str, np.ndarray] = {}
    for part in given.variants.split(","):
        name, seconds_given = part.split(":")
        model, groups = variant(name, start, device)
        epochs = 1 if given.tiny else {"frozen": 3, "lora": 6, "joint": 6, "full": 6, "last": 4}[name]
        teach = (taught_pairs, teacher) if name == "joint" else None
        train(
            model,
            groups,
            sets,
            targets,
            device,
            float(seconds_given),
            epochs,
            32 if given.tiny else 256,
            log,
            name,
            teach,
        )
        _, scores[f"held {name}"] = predict(model, held_pairs, device, True)
        asked_nli, scores[f"ask {name}"] = predict(model, ask_pairs, device, True)
        if name in ("joint", "full"):
            scores[f"ask {name} mutual"] = asked_nli[:, :, 0].min(1)
        report[name] = by_kind(held, scores[f"held {name}"])
        on_natural = predict(model, held_natural_pairs, device, True)[1]
        report[name]["auc natural"] = auc(on_natural[held_target > 0.8], on_natural[held_target < 0.2])
        now = predict(model, held_row_pairs, device, False)[0][:, 0].argmax(1)
        report[name]["nli accuracy on held-out rows"] = float((now == y).mean())
        report[name]["nli agreement with nli-small"] = float((now == before).mean())
        sizes = {
            key: [one["n"], round(one["right"], 3), round(one["below"], 3)]
            for key, one in report[name]["kinds"].items()
        }
        brief = {key: round(value, 4) for key, value in report[name].items() if isinstance(value, float)}
        log(f"{name}: {json.dumps(brief)} {json.dumps(sizes)}")
        if name in ("joint", "full"):
            report[name]["shapes"] = save(given.out, name, trained_weights(model, True))
        else:
            small.update({f"{name}/{key}": value for key, value in trained_weights(model, False).items()})
            np.savez(given.out / "small.npz", **small)
        np.savez_compressed(
            given.out / "scores.npz",
            **{key.replace(" ", "_"): value.astype(np.float32) for key, value in scores.items()},
        )
        (given.out / "report.json").write_text(json.dumps(report, indent=1))
        del model
    log("done")


if __name__ == "__main__":
    main()
