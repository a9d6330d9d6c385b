"""`masked-lm` against the same filters around the fill-mask pipeline, one position and one sentence at a time.

Straightforward: every place of a shared word is masked and put to the pipeline by itself, and every suggestion that is
likelier and new is tagged in its sentence by spaCy, without parser and names. Both must find the same suggestions. The
weights are those of mlm-small as they were trained, where they are at hand, else random; `mlm-small` itself, whose
weights are stored as int8, is measured beside them.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from . import isolated
from .inference import MINI, TINY_SHAPE, make_model

ROOT = Path(__file__).parents[1]
DATA = ROOT / "data" / "snli-dev.jsonl"
WEIGHTS = ROOT / "runs" / "mlm-small"
PROBLEMS, TINY_PROBLEMS = 1_000, 12

_READ = """
import time, warnings
warnings.simplefilter("ignore")
from otherwords import load
problems = load(sys.argv[2])
"""
_OURS = (
    _READ
    + """
from otherwords.frames import problems as nouns
from otherwords.problem import TASKS, Variant
from otherwords.registry import generators
from otherwords.variants.generating import BATCH
vary = generators.make(f'masked-lm(models="{sys.argv[1]}", least=1, n=0)').function
given = nouns(problems, TASKS["nli"])
list(vary(given[-3:], [1] * 3))  # what is done once is not measured
start = time.perf_counter()
some = [given[at:at + BATCH] for at in range(0, len(given), BATCH)]
produced = [one for batch in some for one in vary(batch, [1] * len(batch))]
seconds = time.perf_counter() - start
variants = [one for one in produced if isinstance(one, Variant)]
report(seconds=seconds, found=[[one.of, one.extra["replaced"], one.extra["replacement"]] for one in variants])
"""
)
_STRAIGHTFORWARD = (
    _READ
    + """
import spacy, transformers
from otherwords.words import tagging
from otherwords.words.lexicon import lexicon
from otherwords.words.places import all_forms
transformers.logging.set_verbosity_error()
pipe = transformers.pipeline("fill-mask", sys.argv[1], device="cpu", top_k=200)
nlp = spacy.load(tagging.installed(), exclude=["parser", "ner", "lemmatizer"])
vocabulary = pipe.tokenizer.get_vocab()
pipe("A [MASK] runs."), nlp("A dog runs.")  # what is done once is not measured
def suggested(text, token, present):
    if token.text.lower() not in vocabulary:
        return set()
    fillings = pipe(text[:token.idx] + pipe.tokenizer.mask_token + text[token.idx + len(token):])
    kept, word = set(), token.text.lower()
    for one in fillings:
        new = pipe.tokenizer.convert_ids_to_tokens(one["token"])
        if new == word:
            break  # all that follow are less likely
        # Random weights have more ids than the tokenizer has words.
        if new is None or not new.isalpha() or any(form in present for form in all_forms(new, lexicon())):
            continue
        written = new.capitalize() if token.text.istitle() else new.upper() if text.isupper() else new
        doc = nlp(text[:token.idx] + written + text[token.idx + len(token):])
        if any(t.idx == token.idx and t.text == written and t.pos_ == token.pos_ for t in doc):
            kept.add(new)
    return kept
start = time.perf_counter()
found = []
for name, *texts in problems.select("id", "premise", "hypothesis").iter_rows():
    docs = [nlp(text) for text in texts]
    places = [{}, {}]
    for side, doc in zip(places, docs):
        for token in doc:
            if token.text.isalpha():
                side.setdefault(token.text.lower(), []).append(token)
    present = {form for side in places for word in side for form in all_forms(word, lexicon())}
    for word in places[0].keys() & places[1].keys():
        classes = {token.pos_ for side in places for token in side[word]}
        if len(classes) == 1 and classes <= {"NOUN", "VERB", "ADJ"}:
            sides = [set.intersection(*(suggested(text, token, present) for token in side[word]))
                     for text, side in zip(texts, places)]
            found += [[name, word, new] for new in sides[0] & sides[1]]
report(seconds=time.perf_counter() - start, found=found)
"""
)


def run(tiny: bool = False) -> list[dict[str, Any]]:
    count = TINY_PROBLEMS if tiny else PROBLEMS
    with tempfile.TemporaryDirectory() as place:
        problems = Path(place) / "problems.jsonl"
        texts = _problems(problems, count)
        weights = WEIGHTS
        if tiny or not WEIGHTS.exists():
            print("random weights are used, not the trained ones of runs/mlm-small")
            make_model(Path(place) / "mlm", "BertForMaskedLM", texts, TINY_SHAPE if tiny else MINI)
            weights = Path(place) / "mlm" / "hf"
        slow = isolated.run(_STRAIGHTFORWARD, str(weights), str(problems))
        ours = isolated.run(_OURS, f"hf:{weights}(device=cpu)", str(problems))
        small = isolated.run(_OURS, "mlm-small", str(problems))
    expected, found, stored = ({tuple(one) for one in form["found"]} for form in (slow, ours, small))
    return [
        _row("masked-lm, the same weights: time as a share of the straightforward form's", count, ours, slow),
        _row("masked-lm with mlm-small: time as a share of the straightforward form's", count, small, slow),
        {"claim": "masked-lm, the same weights: suggestions that one form has and the other has not",
         "measured": len(found ^ expected) / max(1, len(expected)), "unit": "of them", "at_most": 0.01,
         "detail": f"{len(expected):,}, {len(found ^ expected)} differ; with mlm-small {len(stored ^ expected)}"},
    ]  # fmt: skip


def _row(claim: str, count: int, ours: dict[str, Any], peer: dict[str, Any]) -> dict[str, Any]:
    ratio = ours["seconds"] / peer["seconds"]
    times = f"{count:,} problems in {ours['seconds']:.1f} s against {peer['seconds']:.1f} s"
    detail = f"{1 / ratio:.1f} times as fast; {times}"
    return {"claim": claim, "measured": ratio, "unit": "of it", "at_most": 0.2, "detail": detail}


def _problems(path: Path, count: int) -> list[str]:
    """Problems of SNLI's development set where it is at hand, else the bundled ones, written to a file."""
    import otherwords as ow

    frame = ow.load(str(DATA) if DATA.exists() else "everyday(split=all)").head(count)
    rows = frame.select("id", "premise", "hypothesis", "label").to_dicts()
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return [word for row in rows for name in ("premise", "hypothesis") for word in row[name].split()]
