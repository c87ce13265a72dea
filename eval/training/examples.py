"""A reader's directory in; `examples.json` out: pages with a question, the prompt's ids, and what the stock class and image processor make of them.

Whoever loads the weights by other code holds it against these, wrong answers included.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, Glm4vForConditionalGeneration, Glm4vImageProcessorPil

from cache_compiler.load import READER
from renderer import paginate, preset, rasterise

from .model import MERGE
from .tokenizer import Mark

# The eight pages and questions that the embedded reader's first version was shown with.
CASES = READER / "examples.json"
_NEW_TOKENS = 24


def write(directory: Path, cases: Path = CASES) -> None:
    """Answer the cases' questions with the directory's model, fp32 and greedy, and write them with their answers into the directory."""
    tokenizer = AutoTokenizer.from_pretrained(directory)
    processor = Glm4vImageProcessorPil.from_pretrained(directory)
    net = Glm4vForConditionalGeneration.from_pretrained(directory, dtype=torch.float32).eval()
    found = [_worked(case, tokenizer, processor, net) for case in json.loads(cases.read_text(encoding="utf-8"))]
    (directory / "examples.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


@torch.no_grad()
def _worked(case: dict[str, Any], tokenizer: Any, processor: Any, net: Any) -> dict[str, Any]:
    style = preset("reader")
    (page,) = paginate("\n".join(case["lines"]), style)
    image = rasterise(page, style, case["dpi"]).image
    seen = processor(images=[image.convert("RGB")], return_tensors="pt")
    cells = int(seen["image_grid_thw"].prod()) // MERGE**2
    message = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": case["question"]}]}
    text = tokenizer.apply_chat_template([message], tokenize=False, add_generation_prompt=True).replace("<|image|>", "<|image|>" * cells)
    ids = tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
    given = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "pixel_values": seen["pixel_values"],
        "image_grid_thw": seen["image_grid_thw"],
        "mm_token_type_ids": (ids == Mark.IMAGE).int(),
    }
    top = net(**given).logits[0, -1].topk(5)
    said = net.generate(**given, do_sample=False, max_new_tokens=_NEW_TOKENS)[0, ids.shape[1] :]
    return {
        **{key: case[key] for key in ("lines", "dpi", "question", "gold", "fact")},
        "size": list(image.size),
        "prompt_ids": ids[0].tolist(),
        "answer": tokenizer.decode(said, skip_special_tokens=True).strip(),
        "answer_ids": said.tolist(),
        "first_top5": [[int(i), round(float(value), 4)] for value, i in zip(top.values, top.indices, strict=True)],
    }
