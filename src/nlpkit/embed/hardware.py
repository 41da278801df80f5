"""The detection of hardware for encoders: devices, precisions, CPUs, and out-of-memory errors."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from nlpkit.errors import UsageError

logger = logging.getLogger("nlpkit.embed")
# those that were chosen last: other work may go there whose result does not depend on it
gpus_in_use: list[torch.device] = []


def choose_device(name: str | None) -> torch.device:
    """Return the device of that name, or the best there is; UsageError for one that is not there."""
    n_devices = {"cpu": 1, "cuda": torch.cuda.device_count() if torch.cuda.is_available() else 0}
    n_devices["mps"] = int(torch.backends.mps.is_available())
    if name is None:
        return torch.device("cuda" if n_devices["cuda"] else "mps" if n_devices["mps"] else "cpu")
    kind, _, index = name.partition(":")
    if (index and not index.isdecimal()) or n_devices.get(kind, 0) <= int(index or 0):
        names = ["cpu", *(f"cuda:{i}" for i in range(n_devices["cuda"])), *(["mps"] if n_devices["mps"] else [])]
        raise UsageError(f"`device={name}` is not available here (found: {', '.join(names)})")
    return torch.device("cpu" if kind == "cpu" else name)


def choose_devices(names: str | None) -> list[torch.device]:
    """Return the devices of names with commas between them, or the best one, and remember which are GPUs (`gpus_in_use`).

    Raises:
        UsageError: several that are not different GPUs.
    """
    devices = [choose_device(name.strip()) for name in names.split(",")] if names is not None else [choose_device(None)]
    gpus = [device for device in devices if device.type == "cuda"]
    if len(devices) > 1 and len({device.index or 0 for device in gpus}) < len(devices):
        raise UsageError(f"`device={names}`: several devices are different GPUs, such as cuda:0,cuda:1")
    gpus_in_use[:] = gpus
    return devices


def choose_precision(name: str, device: torch.device) -> str:
    """Return "fp32", "bf16" or "fp16"; "auto" is bf16 on hardware that multiplies in it.

    Raises UsageError for fp16 elsewhere than on cuda.
    """
    if name == "fp16" and device.type != "cuda":
        raise UsageError(f"precision fp16 needs cuda, the device is {device}; use bf16 or fp32", parameter="precision")
    # torch.cuda.is_bf16_supported is true on older cards as well: they emulate it, slower than fp32
    fast = {
        "cuda": lambda: torch.cuda.get_device_capability(device)[0] >= 8,
        "cpu": cpu_has_fast_bf16,
    }.get(device.type, lambda: False)()
    if name == "bf16" and not fast:
        logger.warning("%s does not multiply in bf16 natively; fp32 is likely to be faster", device)
    if name == "auto":
        return "bf16" if fast else "fp32"
    return name


def cpu_has_fast_bf16() -> bool:
    """Return whether products in bf16 are faster than in fp32 on this CPU: with AMX, and with AVX512_BF16 of AMD.

    Without AMX, as in many virtual machines, AVX512_BF16 of Intel takes 1.7 times as long as fp32 (docs/benchmarks/embeddings.md).
    """
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    fields = (line.partition(":") for line in lines)
    facts = {key.strip(): value.strip() for key, _, value in fields}  # of the last core
    flags = facts.get("flags", "").split()
    return "amx_bf16" in flags or ("avx512_bf16" in flags and facts.get("vendor_id") == "AuthenticAMD")


def available_cpus() -> int:
    """Return the number of CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error of Python or torch, on any device, means that memory ran out."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    message = str(error).lower()
    signs = ("out of memory", "can't allocate memory", "not enough memory", "alloc_failed")
    return any(sign in message for sign in signs)


def free_gpu_memory(device: str) -> None:
    """Give cached blocks back to the device."""
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
    elif device.startswith("mps"):
        torch.mps.empty_cache()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let what draws from torch's own generator draw from this seed, and leave the generator as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield
