"""Tiny models that write, built from a configuration and saved as people save theirs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

WORDS = "a dog runs in the park while it rains and no cat sleeps Rephrase : sentence this".split()  # noqa: SIM905
NAMES = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "bos_token": "<s>"}
VOCABULARY = [*NAMES.values(), *WORDS]
CHAT = "{% for m in messages %}<s> {{ m['role'] }} : {{ m['content'] }} {% endfor %}:"
_SIZES = {"vocab_size": len(VOCABULARY), "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 3}
_LAYERS = {"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
_FEED = {"encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "d_model": 16, "max_position_embeddings": 64}


def config(kind: str) -> Any:
    """The configuration of a tiny T5, BART, Marian, GPT-2 or Llama."""
    import transformers as t

    started = {"decoder_start_token_id": 0, "forced_eos_token_id": None, "forced_bos_token_id": None}
    made = {
        "t5": lambda: t.T5Config(d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, **_SIZES, **started),
        "bart": lambda: t.BartConfig(**_SIZES, **_LAYERS, **_FEED, **started),
        "marian": lambda: t.MarianConfig(**_SIZES, **_LAYERS, **_FEED, **started),
        "gpt2": lambda: t.GPT2Config(n_embd=16, n_layer=2, n_head=2, n_positions=64, **_SIZES),
        "llama": lambda: t.LlamaConfig(
            hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, **_SIZES
        ),
    }
    return made[kind]()


def save(folder: Path, kind: str, chat: bool = False, seed: int = 5) -> Path:
    """Build a tiny model, and save it with its tokenizer."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    torch.manual_seed(seed)
    settings = config(kind)
    auto = "Seq2SeqLM" if settings.is_encoder_decoder else "CausalLM"
    model = getattr(transformers, f"AutoModelFor{auto}").from_config(settings).eval()
    for name, weight in model.named_parameters():  # with weights as small as usual, all tokens would be as likely
        if weight.ndim > 1:
            weight.data = torch.randn_like(weight) * (0.9 if "embed" in name or "shared" in name else 0.3)
    transformers.utils.logging.disable_progress_bar()
    model.save_pretrained(folder)
    transformers.utils.logging.enable_progress_bar()
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(VOCABULARY)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if settings.is_encoder_decoder:
        words.post_processor = processors.TemplateProcessing("$A </s>", special_tokens=[("</s>", 1)])
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=words, **NAMES)
    fast.chat_template = CHAT if chat else None
    fast.save_pretrained(folder)
    return folder
