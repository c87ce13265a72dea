"""A loaded model goes in; what it ran on comes out, without a path or a name of the machine: a result is read by strangers."""

from __future__ import annotations

import os
import platform
from typing import Any

from cache_compiler.backbone import Backbone
from eval.experiment import commit


def machine(backbone: Backbone) -> dict[str, Any]:
    """Cores, threads, device, number type, versions, the checkout's commit."""
    import torch
    import transformers

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    device = torch.cuda.get_device_name(backbone.device) if backbone.device.type == "cuda" else platform.machine()
    return {
        "cores": cores,
        "threads": torch.get_num_threads(),
        "device": f"{backbone.device.type} ({device})",
        "dtype": str(backbone.dtype).removeprefix("torch."),
        "parameters": sum(p.numel() for p in backbone.model.parameters()),
        "template_tokens": len(backbone.template.prefix),
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "transformers": transformers.__version__},
        "commit": commit(),
    }
