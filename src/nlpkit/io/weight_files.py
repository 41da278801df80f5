"""Output files of document weights: their formats, and the tables beside them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nlpkit.errors import UsageError, unknown_value
from nlpkit.io.atomic import check_target
from nlpkit.io.tables import FORMATS, MATRICES, check_table

EXAMPLES = {"parquet": "weights.parquet", "npz": "weights.npz", "mtx": "weights.mtx", "svmlight": "weights.svm"}


@dataclass(frozen=True, slots=True)
class WeightsTarget:
    """A file of weights. path: "-" for JSON lines on stdout. format: "table" (a row for each weight), npz, mtx or svmlight."""

    path: str
    format: str

    @property
    def is_matrix(self) -> bool:
        """Whether it holds a matrix, whose rows and columns are named in tables beside it."""
        return self.format != "table"

    def beside(self, name: str) -> Path | None:
        """Return the path of a table that goes with it, None beside stdout."""
        path = Path(self.path)
        return None if self.path == "-" else path.with_name(f"{path.stem}.{name}.parquet")

    def check(self, *, force: bool, terms: bool = False, features: Path | None = None) -> None:
        """Refuse outputs that cannot be written, before any work is done.

        Args:
            force: replace what is there.
            terms: whether a table of all terms goes beside it.
            features: another output.

        Raises:
            UsageError: two outputs have one name; and what `check_target` raises.
        """
        if self.is_matrix:
            check_target(Path(self.path), force=force)
        elif self.path != "-":
            check_table(self.path, force=force)
        names = ["vocab", *(["ids"] if self.is_matrix else []), *(["terms"] if terms else [])]
        for path in map(self.beside, names):
            if path is None:
                continue
            if path == features:
                raise UsageError(f"`features={path}` is the name of another output; give another", parameter="features")
            check_target(path, force=force)


def weights_target(output: str, to: str | None = None) -> WeightsTarget:
    """Return the output file of the weights and its format: that of `to`, else that of the suffix.

    Raises:
        UsageError: an unknown format, one that the name of the output contradicts, or one that stdout cannot take.
    """
    if to is not None and to not in EXAMPLES:
        raise unknown_value("to", to, EXAMPLES)
    suffix = Path(output).suffix.lower()
    named = {**FORMATS, **MATRICES}.get(suffix)
    if to is not None and named is not None and named != to and output != "-":
        stem = Path(output).stem
        raise UsageError(
            f"`to={to}` and `output={output}` contradict each other; use "
            f"`output={stem}{Path(EXAMPLES[to]).suffix}`, or leave `to` out",
            parameter="to",
        )
    if suffix and to is None and named is None and output != "-":
        *most, last = FORMATS
        known = f"{' '.join(most)} or {last} (a row for each weight), or as a matrix: {' '.join(MATRICES)}"
        raise UsageError(f"output {output}: '{suffix}' is not a format of nlpkit; weights are written as {known}")
    format = to or named
    if format not in MATRICES.values():
        return WeightsTarget(output, "table")
    if output == "-":
        raise UsageError(f"{format} cannot go to stdout; use `output={EXAMPLES[str(format)]}`")
    return WeightsTarget(output, str(format))
