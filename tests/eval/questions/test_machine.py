"""What a model ran on is said without naming the machine."""

import json
import os
import platform

from cache_compiler.tiny import random_backbone
from eval.questions.machine import machine


def test_it_says_cores_type_and_versions_and_neither_host_nor_path() -> None:
    facts = machine(random_backbone("tiny"))
    assert facts["dtype"] == "float32"
    assert facts["threads"] >= 1
    assert 1 <= facts["cores"] <= (os.cpu_count() or 1)
    assert facts["parameters"] > 1000
    said = json.dumps(facts)
    assert os.sep not in said.replace("(x86_64)", "")
    assert not platform.node() or platform.node() not in said
