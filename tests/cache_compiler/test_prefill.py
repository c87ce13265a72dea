"""Full prefill: the slow path that judges the others is itself held against the stock class in test_oracles.py."""

import numpy as np
import torch
from PIL import Image

from cache_compiler.prefill import full_prefill, prefill_encoded
from cache_compiler.tiny import random_backbone
from renderer.types import PageImage


def test_rows_and_positions_of_two_pages_are_laid_end_to_end() -> None:
    backbone = random_backbone("tiny")
    images = [
        PageImage(f"{n:032x}", 72, 16, Image.fromarray(np.full((16 * h, 16 * w, 3), 90 * n, np.uint8)))
        for n, (h, w) in enumerate([(2, 5), (4, 3)])
    ]
    assembly = full_prefill(backbone, images, room=3)
    first, second = assembly.segments
    assert (first.first, first.last, first.anchor.start) == (4, 4 + 12, 4)
    assert (second.first, second.last, second.anchor.start) == (16, 16 + 14, 4 + 7)
    assert (assembly.length, assembly.next_position) == (30, 11 + 6)
    assert assembly.cache.rows == 30
    assert assembly.seconds["prefill"] > 0


def test_no_pages_is_the_prefix_alone() -> None:
    backbone = random_backbone("tiny")
    assembly = full_prefill(backbone, [])
    assert assembly.length == assembly.next_position == len(backbone.template.prefix)
    assert torch.isfinite(assembly.cache.rotary_slab).all()


def test_text_pages_are_laid_end_to_end_and_each_sees_what_stands_before_it() -> None:
    backbone = random_backbone("tiny", family="deepseek_v3")
    first, second = (backbone.encode_text(key, range(20 * n + 20, 20 * n + 20 + 6 + n)) for n, key in enumerate("ab"))
    assembly = prefill_encoded(backbone, [first, second], room=3)
    assert [(segment.key, segment.first, segment.last, segment.anchor.start) for segment in assembly.segments] == [
        ("a", 4, 10, 4),
        ("b", 10, 17, 10),
    ]
    assert (assembly.length, assembly.next_position, assembly.cache.rows) == (17, 17, 17)
    alone = prefill_encoded(backbone, [second])
    assert not torch.allclose(assembly.cache.plain_slab[1:, 0, :, 10:17], alone.cache.plain_slab[1:, 0, :, 4:11], atol=1e-2)
