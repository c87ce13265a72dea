"""What the tests of training share: a small vocabulary, a press that prints with it, and the tiny size."""

import pytest
import torch

from eval.training.model import SIZES
from eval.training.pages import Press
from eval.training.tokenizer import train_vocabulary


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny():
    return SIZES["tiny"]


@pytest.fixture(scope="session")
def press(tiny):
    return Press(train_vocabulary(tiny.vocabulary, contexts=100))
