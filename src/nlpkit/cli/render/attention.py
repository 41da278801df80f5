"""What attention shows: the rollout of the token that reads the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nlpkit import reporting, wording
from nlpkit.cli import console

if TYPE_CHECKING:
    from nlpkit.workflows.attention import Attention

_BAR = 30


def attention(seen: Attention, target: str | None) -> None:
    """Print a table of tokens, or one JSON object; nothing where the table goes to stdout."""
    if console.settings.json:
        console.emit_json({"output": target, **seen.to_dict()})
        return
    L, H, T, _ = seen.maps.weights.shape
    if target != "-":
        shares = seen.received().tolist()
        top = max(shares)
        rows = [
            [str(i + 1), token, f"{share:.4f}", "▇" * round(_BAR * share / top)]
            for i, (token, share) in enumerate(zip(seen.maps.tokens, shares, strict=True))
        ]
        title = f"share of each token in {seen.maps.tokens[seen.reader]} after {wording.counted(L, 'layer')} (rollout)"
        console.table(["", "token", "share", " "], rows, right=["", "share"], title=title, noun="tokens", sizes=shares)
        if seen.confidence is not None:
            layers = seen.confidence.to_list()
            table = [
                [str(row["layer"]), row["prediction"], f"{row['probability']:.4f}", f"{row['entropy']:.4f}"]
                for row in layers
            ]
            title = f"the class after each layer; from layer {seen.confidence.settled} on it is that of the last"
            console.table(
                ["layer", "prediction", "probability", "entropy"], table, right=["layer", "probability", "entropy"], title=title,
                noun="layers",
            )  # fmt: skip
    if target is not None:
        reporting.note(f"wrote {target}: {L} × {H} heads, {wording.counted(T, 'token')}")
