"""The exported directory is the standard form: stock classes load it and see what the trained network saw."""

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import AutoTokenizer, Glm4vForConditionalGeneration
from transformers.models.glm4v.image_processing_pil_glm4v import Glm4vImageProcessorPil

from eval.training.checkpoint import Header, save
from eval.training.export import export
from eval.training.model import Eye, network
from renderer import paginate, rasterise

LINES = ["Clifai has price $23,890.", "The owner of Brobo tower is Dupu Hiovin."]


@pytest.fixture(scope="module")
def exported(press, tiny, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    net = network(tiny, 4).eval()
    save(folder / "answer.safetensors", Header("answer", 1, 1.0, 4, tiny), {"net": net}, [])
    export(folder / "answer.safetensors", press.vocabulary, folder / "model")
    return net, folder / "model"


def test_stock_eye_and_processor_see_what_the_trained_eye_saw(exported, press):
    net, folder = exported
    stock = Glm4vForConditionalGeneration.from_pretrained(folder).eval()
    (page,) = paginate("\n".join(LINES), press.style)
    given = Glm4vImageProcessorPil.from_pretrained(folder)(images=[rasterise(page, press.style, 120).image], return_tensors="pt")
    (sheet,) = press.print("\n".join(LINES), 120)
    with torch.no_grad():
        theirs = stock.model.visual(given["pixel_values"], grid_thw=given["image_grid_thw"]).pooler_output
        _, ours = Eye(net).look(torch.from_numpy(sheet.patches), [sheet.grid])
    assert given["image_grid_thw"].tolist() == [[1, *sheet.grid]]
    assert torch.allclose(theirs, ours, atol=1e-4)


def test_the_template_gives_the_prompt_of_training(exported, press):
    _, folder = exported
    tokenizer = AutoTokenizer.from_pretrained(folder)
    content = [{"type": "image"}, {"type": "text", "text": "Clifai price?"}]
    ids = tokenizer.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True, return_dict=False)
    vocabulary = press.vocabulary
    assert ids == [*vocabulary.prefix, 6, 7, 8, *vocabulary.encode("Clifai price?").ids, 5, vocabulary.newline]


def test_the_text_tower_came_over_unchanged(exported):
    net, folder = exported
    stock = Glm4vForConditionalGeneration.from_pretrained(folder).eval()
    ids = torch.arange(20, 40)[None]
    with torch.no_grad():
        assert torch.equal(stock(input_ids=ids).logits, net(input_ids=ids).logits)


def test_a_blank_page_differs_from_a_black_one(exported):
    _, folder = exported
    processor = Glm4vImageProcessorPil.from_pretrained(folder)
    white, black = (Image.fromarray(np.full((32, 32, 3), level, np.uint8)) for level in (255, 0))
    values = [processor(images=[image], return_tensors="pt")["pixel_values"].unique().tolist() for image in (white, black)]
    assert values == [[1.0], [-1.0]]
