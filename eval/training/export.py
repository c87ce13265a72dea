"""A checkpoint and its vocabulary in; a standard Hugging Face directory out, which the stock GLM-4V class and tokenizer load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from transformers import Glm4vForConditionalGeneration, PreTrainedTokenizerFast

from .checkpoint import load, read_header
from .model import MERGE, PATCH, configuration, network
from .tokenizer import NAMES, Mark, Vocabulary

# The prompt the reader was trained on, as a template: [gMASK]<sop><|user|>, pages, question, <|assistant|>.
TEMPLATE = (
    "[gMASK]<sop>"
    "{% for m in messages %}"
    "{% if m.role == 'assistant' %}<|assistant|>\n{{ m.content }}<eos>"
    "{% else %}<|user|>\n"
    "{% if m.content is string %}{{ m.content }}"
    "{% else %}{% for c in m.content %}"
    "{% if c.type == 'image' %}<|begin_of_image|><|image|><|end_of_image|>"
    "{% elif c.type == 'text' %}{{ c.text }}{% endif %}"
    "{% endfor %}{% endif %}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)

# No resizing: the page is a whole number of cells already, and a resampled one is not the page the eye was trained on.
PREPROCESSOR: dict[str, Any] = {
    "image_processor_type": "Glm4vImageProcessor",
    "do_resize": False,
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [0.5] * 3,
    "image_std": [0.5] * 3,
    "do_convert_rgb": True,
    "patch_size": PATCH,
    "temporal_patch_size": 2,
    "merge_size": MERGE,
    "size": {"shortest_edge": 256, "longest_edge": 16777216},
}
GENERATION = {"eos_token_id": int(Mark.EOS), "pad_token_id": int(Mark.PAD), "do_sample": False, "max_new_tokens": 48}

KERNEL = "model.visual.patch_embed.proj.weight"


def export(checkpoint: Path, vocabulary: Vocabulary, out: Path) -> None:
    """Write config, weights, tokenizer with chat template, preprocessor and generation config into `out`, made if absent.

    The grey kernel [eye, 1, 1, 8, 8] is spread evenly over three colours and two temporal copies: on a grey page, shown twice as GLM-4V
    shows a still image, the sum is the same. Raises CheckpointError for a file that is none.
    """
    header = read_header(checkpoint)
    grey = network(header.size, header.seed)
    load(checkpoint, {"net": grey})
    state = grey.state_dict()
    state[KERNEL] = state[KERNEL].repeat(1, 3, 2, 1, 1) / 6
    config = configuration(header.size, colour=True)
    config.architectures = ["Glm4vForConditionalGeneration"]
    net = Glm4vForConditionalGeneration(config)
    net.load_state_dict(state)
    out.mkdir(parents=True, exist_ok=True)
    net.save_pretrained(out)
    _tokenizer(vocabulary).save_pretrained(out)
    (out / "preprocessor_config.json").write_text(json.dumps(PREPROCESSOR, indent=1) + "\n", encoding="utf-8")
    (out / "generation_config.json").write_text(json.dumps(GENERATION, indent=1) + "\n", encoding="utf-8")


def _tokenizer(vocabulary: Vocabulary) -> PreTrainedTokenizerFast:
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=vocabulary.tokenizer,
        bos_token=NAMES[Mark.GMASK],
        eos_token=NAMES[Mark.EOS],
        pad_token=NAMES[Mark.PAD],
        additional_special_tokens=[name for mark, name in NAMES.items() if mark >= Mark.GMASK],
        model_max_length=8192,
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer
