"""The named choices of an encoder: which tokens attend to which, how positions count, the activation and the norm."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from nlpkit.errors import UsageError, unknown_value

SPARSE = ("windowed", "dilated", "global", "random")
KINDS = {
    "positions": ("sinusoidal", "learned", "relative", "rope", "alibi"),
    "activation": ("relu", "gelu", "swiglu"),
    "norm": ("layernorm", "rmsnorm"),
}
_LEAST, _MOST = {"window": 2, "dilation": 2}, 65_536
_USED_BY = {
    "window": ("windowed", "dilated"), "dilation": ("dilated",), "global_tokens": ("global",), "random_blocks": ("random",),
    "block": SPARSE, "span": ("relative",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Choices:
    """What a transformer is made of; the first of each kind is that of Vaswani et al. (2017).

    attention: "full", or one or several of SPARSE, joined by "+" as in BigBird's windowed+global+random. window: w, tokens of a window,
    half of them on each side; dilation: d, the gap between them; global_tokens: g first tokens that see all and are seen by all;
    random_blocks: r blocks that each block sees; block: b, tokens of a block, 0 for half a window (16 without one). span: k, the
    distance from which relative positions are no longer told apart.
    """

    attention: str = "full"
    positions: str = "sinusoidal"
    activation: str = "relu"
    norm: str = "layernorm"
    window: int = 32
    dilation: int = 2
    global_tokens: int = 1
    random_blocks: int = 2
    block: int = 0
    span: int = 128

    @property
    def parts(self) -> frozenset[str]:
        """What sparse attention is composed of; empty for full attention."""
        return frozenset() if self.attention == "full" else frozenset(self.attention.split("+"))

    @property
    def gap(self) -> int:
        """Tokens from one place of a block to the next: d of dilated attention, else 1."""
        return self.dilation if "dilated" in self.parts else 1

    @property
    def block_size(self) -> int:
        """Tokens b of a block."""
        return self.block or (max(8, self.window // 2) if self.parts & {"windowed", "dilated"} else 16)

    def check(self) -> None:
        """Raise UsageError for a choice there is not, a number out of range, or one that no choice uses."""
        unknown = self.parts - set(SPARSE)
        if unknown or self.attention.count("+") + 1 > max(1, len(self.parts)):
            known = f"full, {', '.join(SPARSE)}, or several of the last four once each, as in windowed+global+random"
            raise UsageError(f"`arch`: attention={self.attention} is not known; give {known}", parameter="arch")
        for kind, known_names in KINDS.items():
            if getattr(self, kind) not in known_names:
                raise unknown_value("arch", f"{kind}={getattr(self, kind)}", [f"{kind}={name}" for name in known_names])
        usual = asdict(Choices())
        for name, users in _USED_BY.items():
            value, least = getattr(self, name), 0 if name == "block" else _LEAST.get(name, 1)
            if not least <= value <= _MOST:
                raise UsageError(
                    f"`arch`: {name}={value}: a number from {least} to {_MOST:,} is needed", parameter="arch"
                )
            if value != usual[name] and not {self.positions, *self.parts} & set(users):
                kind = "positions" if users == ("relative",) else "attention"
                raise UsageError(
                    f"`arch`: {name} is only for {kind}={' or '.join(users)}; leave it out", parameter="arch"
                )
