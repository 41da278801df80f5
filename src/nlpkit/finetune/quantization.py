"""How the frozen weights of a base are stored, as plain data; `quantized` does it."""

from __future__ import annotations

from dataclasses import dataclass

CODES = ("nf4", "int8")


BLOCK, ABSMAX_BLOCK = 64, 256  # weights of nf4 that share an absmax, and absmax that share one of their own


@dataclass(frozen=True, slots=True)
class Quantization:
    """How the frozen weights of a base are stored. code: nf4 or int8; double: the absmax of nf4 in 8 bits, too."""

    code: str
    double: bool = False

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"unknown code '{self.code}'")

    @property
    def bits(self) -> float:
        """Bits of a weight; of nf4 with its share of absmax, while the steps of int8, one for each row, hardly count."""
        if self.code == "int8":
            return 8
        return 4 + (8 / BLOCK + 32 / (BLOCK * ABSMAX_BLOCK) if self.double else 32 / BLOCK)

    def __str__(self) -> str:
        """Return it as people read it."""
        return f"{self.code} with double quantisation" if self.double else self.code
