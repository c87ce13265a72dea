"""Each row of the table names things that the library has; what they do is proved by the self-check and the oracles."""

import pytest
import transformers

from cache_compiler.families import FAMILIES


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_row_names_the_class_of_its_model_type_and_an_image_processor_that_needs_no_torchvision(kind: str) -> None:
    family = FAMILIES[kind]
    model = getattr(transformers, family.model)
    assert model.config_class.model_type == kind
    if family.image_processor is not None:
        assert family.image_processor.endswith("Pil")
        assert hasattr(transformers, family.image_processor)
    # Only multi-head latent attention is tapped where latent and key come out together.
    assert family.latent == (family.tap == "kv_a_proj_with_mqa")
