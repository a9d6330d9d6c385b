"""Tiny models of transformers, built from their configurations with a fixed seed and saved with save_pretrained.

They know the words of one sentence. Weights are large, so that every input changes what comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

TEXT = "a dog runs in the park while it rains and no cat sleeps"
KNOWN = TEXT.split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
#: The vocabulary of all but the writers, in the order of the token ids.
WORDS = [*SPECIAL, *KNOWN]
LABELS = ("contradiction", "entailment", "neutral")
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
#: What makes each architecture tiny, by its `model_type`; they treat padding, masks and positions each in its own way.
FAMILIES: dict[str, dict[str, Any]] = {
    "bert": {**SIZES, "max_position_embeddings": 32},
    "roberta": {**SIZES, "max_position_embeddings": 40},
    "xlm-roberta": {**SIZES, "max_position_embeddings": 40},
    "camembert": {**SIZES, "max_position_embeddings": 40},
    "electra": {**SIZES, "embedding_size": 8},
    "albert": {**SIZES, "embedding_size": 8, "max_position_embeddings": 40},
    "deberta": {**SIZES, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    "deberta-v2": {**SIZES, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False},
    "mpnet": {**SIZES, "max_position_embeddings": 40},
    "modernbert": {**SIZES, "global_attn_every_n_layers": 2},
    "distilbert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32},
    "xlnet": {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 32},
}


def build(family: str, head: str = "ForSequenceClassification", **settings: Any) -> Any:
    """A model of a family: `build("bert", "ForMaskedLM")`; an empty head gives the bare encoder."""
    import torch
    import transformers

    torch.manual_seed(5)
    known = {"vocab_size": len(WORDS), "pad_token_id": 0, "id2label": dict(enumerate(LABELS)), **FAMILIES[family]}
    config = transformers.AutoConfig.for_model(family, **{**known, **settings})
    model = getattr(transformers, f"AutoModel{head}").from_config(config).eval()
    for weights in model.parameters():  # biases and norms start at 0 and 1, which would hide a mistake
        weights.data += torch.randn_like(weights) * 0.4
    return model


def word_tokenizer(inputs: Sequence[str] = ("input_ids", "token_type_ids", "attention_mask"), **settings: Any) -> Any:
    """A fast tokenizer of whole words, with BERT's special tokens around a text or a pair."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    pair, special = "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)]
    words.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", pair, special)
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, model_input_names=list(inputs), **{**names, **settings}
    )


def save(model: Any, folder: Path, tokenizer: Any = None) -> Path:
    """Save a model, and its tokenizer where one is given, without the progress bar of transformers."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    model.save_pretrained(folder)
    logging.enable_progress_bar()
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    return folder


# Models that write

WRITER_WORDS = [*KNOWN, "Rephrase", ":", "sentence", "this"]
_NAMES = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "bos_token": "<s>"}
WRITER_VOCABULARY = [*_NAMES.values(), *WRITER_WORDS]
_CHAT = "{% for m in messages %}<s> {{ m['role'] }} : {{ m['content'] }} {% endfor %}:"
_TOKENS = {"vocab_size": len(WRITER_VOCABULARY), "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 3}
_START = {"decoder_start_token_id": 0, "forced_eos_token_id": None, "forced_bos_token_id": None}
_BART = {
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "d_model": 16,
    "max_position_embeddings": 64,
    **_START,
}
WRITERS: dict[str, dict[str, Any]] = {
    "t5": {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, **_START},
    "bart": _BART,
    "marian": _BART,
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64},
    "llama": SIZES,
}


def save_writer(folder: Path, family: str, chat: bool = False, seed: int = 5) -> Path:
    """Build a tiny T5, BART, Marian, GPT-2 or Llama, and save it with its tokenizer."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    torch.manual_seed(seed)
    config = transformers.AutoConfig.for_model(family, **WRITERS[family], **_TOKENS)
    auto = "Seq2SeqLM" if config.is_encoder_decoder else "CausalLM"
    model = getattr(transformers, f"AutoModelFor{auto}").from_config(config).eval()
    for name, weight in model.named_parameters():  # with weights as small as usual, all tokens would be as likely
        if weight.ndim > 1:
            weight.data = torch.randn_like(weight) * (0.9 if "embed" in name or "shared" in name else 0.3)
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WRITER_VOCABULARY)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if config.is_encoder_decoder:
        words.post_processor = processors.TemplateProcessing("$A </s>", special_tokens=[("</s>", 1)])
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=words, **_NAMES)
    fast.chat_template = _CHAT if chat else None
    return save(model, folder, fast)


# Causal models that are asked about whole texts

_DECODER = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
_GROUPED = {**_DECODER, "num_key_value_heads": 2, "max_position_embeddings": 2048}
#: They differ in positions, in heads that share keys, and in what a token can see.
CAUSAL: dict[str, dict[str, Any]] = {
    "llama": _GROUPED,
    "qwen2": _GROUPED,
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 2048},
    "opt": {
        **_DECODER,
        "ffn_dim": 48,
        "word_embed_proj_dim": 32,
        "max_position_embeddings": 2048,
        "dropout": 0.0,
    },
    "gpt_neox": {**_DECODER, "max_position_embeddings": 2048},
    "mistral": {**_GROUPED, "sliding_window": 40},
    "gemma2": {**_GROUPED, "head_dim": 8, "sliding_window": 40, "query_pre_attn_scalar": 8},
    "bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 4},
    "falcon": {**_DECODER, "new_decoder_architecture": True, "num_kv_heads": 2},
}
_CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_CAUSAL_NAMES = {"pad_token": "<pad>", "eos_token": "</s>", "bos_token": "<s>"}
_CAUSAL_SPECIAL = [*_CAUSAL_NAMES.values(), "<|im_start|>", "<|im_end|>"]


def bpe_tokenizer(texts: Sequence[str], size: int = 400, chat: bool = False) -> Any:
    """A fast tokenizer of bytes, as GPT-2's, trained on some texts; plain texts begin with `<s>`."""
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    words = Tokenizer(models.BPE())
    words.pre_tokenizer, words.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=_CAUSAL_SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words.train_from_iterator(texts, trainer)
    words.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", words.token_to_id("<s>"))])
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=words, **_CAUSAL_NAMES)
    fast.chat_template = _CHATML if chat else None
    return fast


def save_causal(folder: Path, family: str = "llama", chat: bool = False, **settings: Any) -> Path:
    """Build a tiny causal model of a family that reads any text, and save it with its tokenizer."""
    import torch
    import transformers

    tokenizer = bpe_tokenizer(
        [TEXT, "Premise: A man sleeps.\nHypothesis: He is awake.\nAnswer: yes no maybe"], chat=chat
    )
    torch.manual_seed(5)
    numbers = {"vocab_size": len(tokenizer), "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2}
    config = transformers.AutoConfig.for_model(family, **{**CAUSAL[family], **numbers, **settings})
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    for name, weight in model.named_parameters():
        if weight.ndim > 1:
            weight.data = torch.randn_like(weight) * (0.5 if "emb" in name or "wte" in name else 0.25)
    return save(model, folder, tokenizer)
