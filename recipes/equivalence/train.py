"""Train a judge of equivalence on an encoder; needs torch and numpy alone, and one GPU.

    train.py ENCODER PAIRS OUT NAME [--rank 16] [--without 0] [--steps 2000] [--rate 1e-3] [--leave-out set,own]

ENCODER is the folder of the shipped nli-small (its int8 weights are read from the ONNX file without the onnx package)
or of all-mpnet-base-v2. PAIRS is what pairs.py made with the encoder's tokenizer. Trains additions of low rank to all
maps of the encoder (all weights with --rank 0) and a head; pairs of the folds --without are not trained on. A pair is
read in one order, drawn by chance; scores are the mean of both. Writes OUT/NAME.npz, the mean weights over the last
steps, and OUT/NAME-scores.npy, its probabilities of the pairs that are scored.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from encoders import Encoder, LowRank, Shape, load
from torch import nn
from torch.nn import functional

#: The number of the fold that no judge is trained on.
HELD_OUT = 5


class Pairs:
    """Tokens of pairs of texts, on the device."""

    def __init__(self, a: np.ndarray, b: np.ndarray, shape: Shape, device: torch.device) -> None:
        self.shape = shape
        self.sizes = (a != 0).sum(1) + (b != 0).sum(1) + 2 + shape.between
        self.a, self.b = (torch.from_numpy(one.astype(np.int32)).to(device) for one in (a, b))
        self.device = device

    def batch(self, rows: np.ndarray, swap: bool = False):
        """Ids of some pairs, and to which text each belongs (2: to none)."""
        shape, n = self.shape, -(-int(self.sizes[rows].max()) // 8) * 8
        at = torch.from_numpy(rows).to(self.device)
        a, b = (self.b[at], self.a[at]) if swap else (self.a[at], self.b[at])
        one, two = ((x != 0).sum(1, keepdim=True) for x in (a, b))
        place = torch.arange(n, device=self.device)[None, :].expand(len(rows), n)
        behind = one + 1 + shape.between
        first = a.gather(1, (place - 1).clamp(0, a.shape[1] - 1)).long()
        second = b.gather(1, (place - behind).clamp(0, b.shape[1] - 1)).long()
        in_first, in_second = (place > 0) & (place <= one), (place >= behind) & (place < behind + two)
        ids = torch.where(in_first, first, torch.where(in_second, second, shape.end))
        ids = torch.where(place == 0, shape.begin, torch.where(place > behind + two, shape.pad, ids))
        kinds = torch.where(in_first, 0, torch.where(in_second, 1, 2))
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


def logits(model: nn.Module, pairs: Pairs, rows: np.ndarray, swap: bool = False) -> torch.Tensor:
    """How the model judges some pairs, in the order in which they are or the other."""
    with autocast(pairs.device):
        return model(*pairs.batch(rows, swap)).float()


@torch.no_grad()
def predict(model: Encoder, pairs: Pairs, orders: tuple[int, ...] = (0, 1)) -> np.ndarray:
    """The logits of all pairs in each order."""
    model.eval()
    found = np.zeros((len(orders), len(pairs.sizes)), np.float32)
    for some in pairs.batches(1024, np.arange(len(pairs.sizes))):
        for swap in orders:
            found[swap, some] = logits(model, pairs, some, bool(swap)).cpu().numpy()
    return found


# Training


def prepared(model: Encoder, rank: int, rate: float, device: torch.device):
    """The encoder with what is trained, and the groups of its parameters."""
    head = [*model.equal.parameters()]
    if not rank:
        rest = [one for key, one in model.named_parameters() if not key.startswith("equal.")]
        return model.to(device), [{"params": rest, "lr": rate}, {"params": head, "lr": 1e-3}]
    for one in model.parameters():
        one.requires_grad_(False)
    for one in head:
        one.requires_grad_(True)
    for layer in model.layers:
        for part in ("q", "k", "v", "o", "up", "down"):
            setattr(layer, part, LowRank(getattr(layer, part), rank))
    trained = [one for key, one in model.named_parameters() if one.requires_grad and not key.startswith("equal.")]
    return model.to(device), [{"params": head, "lr": 1e-3}, {"params": trained, "lr": rate}]


def train(model: Encoder, groups, pairs: Pairs, table, rows: np.ndarray, given, log) -> Encoder:
    """Train what has a gradient; give the mean of its weights, in which late steps count most.

    What is wanted of a pair is in `table["want"]`.
    """
    rng, start, step, losses = np.random.default_rng(given.seed), time.time(), 0, []
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01, fused=pairs.device.type == "cuda")
    rates = [group["lr"] for group in optimizer.param_groups]
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    mean = [one.detach().clone() for one in parameters]
    want, weight = (torch.from_numpy(table[name]).to(pairs.device) for name in ("want", "weight"))
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
            loss = functional.binary_cross_entropy_with_logits(logits(model, pairs, some), want[at], reduction="none")
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
    unseen = np.isin(fold, folds)
    name = np.where(np.isin(name, ["d-SNLI", "d-ATOMIC", "d-SOCIAL", "a-NLI"]), "paranlu", name)
    for one in dict.fromkeys(name):
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
    parser.add_argument("--rate", type=float, default=1e-3, help="of the encoder; the head's is 1e-3")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--batch", type=int, default=768)
    parser.add_argument("--seed", type=int, default=20_261_118)
    parser.add_argument("--without", default="")
    parser.add_argument("--leave-out", default="", help="sources of pairs")
    parser.add_argument("--teacher", type=Path, help="what another judge wrote with --teach, of the same pairs")
    parser.add_argument("--teach", action="store_true", help="write OUT/NAME-taught.npy, logits of all pairs")
    given = parser.parse_args()
    begin = time.time()

    def log(text: str) -> None:
        print(f"{given.name} [{time.time() - begin:.0f}] {text}", flush=True)

    torch.manual_seed(given.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    folds = [HELD_OUT, *(int(one) for one in given.without.split(",") if one)]
    table = dict(np.load(given.pairs / "table.npz"))
    sources = ("script", "frame", "paraphrase", "set", "own", "row")
    left_out = [sources.index(one) for one in given.leave_out.split(",") if one]
    rows = np.flatnonzero(~np.isin(table["fold"], folds) & ~np.isin(table["source"], left_out))
    yes = table["label"] > 0.5
    balance = (table["weight"] * ~yes)[rows].sum() / (table["weight"] * yes)[rows].sum()
    table["want"] = table["label"] * 0.96 + 0.02
    if given.teacher:
        taught = np.load(given.teacher).astype(np.float32)
        table["want"] = (table["want"] + 1 / (1 + np.exp(-taught))).astype(np.float32) / 2
    table["weight"] = np.where(yes, table["weight"] * min(2.0, balance), table["weight"]).astype(np.float32)
    model, groups = prepared(load(given.model), given.rank, given.rate, device)
    pairs, scored = (
        Pairs(*(np.load(given.pairs / f"{which}{name}.npy") for name in "ab"), model.shape, device)
        for which in ("", "score-")
    )
    asked = json.loads((given.pairs / "score.json").read_text())
    log(f"{len(rows)} pairs, balance {balance:.2f}, {sum(p.numel() for g in groups for p in g['params'])} weights")
    train(model, groups, pairs, table, rows, given, log)
    scores = predict(model, scored)
    np.save(given.out / f"{given.name}-scores.npy", scores.astype(np.float16))
    for name, values in (("one order", scores[0]), ("both orders", scores.mean(0))):
        log(name)
        report(asked, values, folds, log)
    if given.teach:
        np.save(given.out / f"{given.name}-taught.npy", predict(model, pairs, (0,))[0].astype(np.float16))
        log("taught")
    if given.rank:
        named = {key for key, one in model.named_parameters() if one.requires_grad}
        kept = {key: value.detach().half().cpu().numpy() for key, value in model.state_dict().items() if key in named}
        np.savez(given.out / f"{given.name}.npz", **kept)
    log("done")


if __name__ == "__main__":
    main()
