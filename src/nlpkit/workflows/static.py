"""Static encoders: tuned on the documents that they are to embed, kept in a run, and taken out of it again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nlpkit import reporting, wording
from nlpkit.embed.options import EncoderOptions
from nlpkit.io.runs import Run
from nlpkit.parameters import Execution
from nlpkit.workflows.encoders import open_encoder

if TYPE_CHECKING:
    from nlpkit.embed.encoder import Encoder
    from nlpkit.embed.static import StaticModel

FOLDER = "sentence-transformers"  # in model/ of a run, where `--encoder RUN` looks as well


def tune_encoder(
    parts: Iterable[Sequence[str | None]], options: EncoderOptions, execution: Execution
) -> StaticModel | None:
    """Return a static encoder tuned on a sample of documents, and say how near it is; None where the encoder is static already.

    Args:
        parts: the texts of the documents, some at a time. options: the encoder it is tuned to; `engine` names the size of the sample.

    Raises:
        UsageError: `engine` is not static; InputError: too few different texts; MissingError: the encoder is not there.
    """
    from nlpkit.embed.static import TextSample, tune_static

    size = options.static_sample()
    assert size is not None
    teacher = open_encoder(replace(options, engine="auto"), execution.n_threads())
    if teacher.engine == "static":
        reporting.note(f"{teacher.name} is a static encoder already: it embeds as it is")
        return None
    sample, start = TextSample(size, execution.seed), time.perf_counter()
    for part in parts:
        sample.add([text or "" for text in part])
    with reporting.progress("static encoder", 100, percent=True) as update:
        model = tune_static(
            teacher, sample.texts(), threads=execution.n_threads(), seed=execution.seed,
            progress=lambda percent, stage: update(percent, f"static encoder: {stage}"),
        )  # fmt: skip
    note_static(model, time.perf_counter() - start)
    return model


def note_static(model: StaticModel, seconds: float) -> None:
    """Say how near a static encoder is to the one that it was tuned to, and warn where its clusters are others."""
    scores, plain = model.scores, model.plain
    reporting.note(
        f"static encoder: tuned to {model.teacher['encoder']} on {wording.counted(model.texts, 'text')} in {seconds:,.0f} s. On "
        f"{wording.count(scores.texts)} held-out texts its cosine to the encoder is {scores.cosine:.3f} (without tuning "
        f"{plain.cosine:.3f}), the agreement of {scores.clusters} clusters with the encoder's (AMI) {scores.agreement:.3f} (without "
        f"tuning {plain.agreement:.3f}; two clusterings of the encoder's own vectors {scores.ceiling:.3f})"
    )
    if scores.weak:
        reporting.warn(
            f"the clusters of the static vectors agree with the encoder's to {scores.agreement:.2f}, two "
            f"clusterings of the encoder's own vectors to {scores.ceiling:.2f}: topics will differ from the encoder's. "
            "Embed with `engine=auto`, or tune on a larger sample"
        )


def files_in(run: Run, config: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files of the static encoder that a run keeps, by their path below model/; none where it keeps none.

    Raises:
        InputError: a file was changed since the run was written.
    """
    if not (config.get("encoder") or {}).get("static") or f"model/{FOLDER}/modules.json" not in run.manifest["outputs"]:
        return {}
    folder = run.folder(f"model/{FOLDER}")
    return {f"{FOLDER}/{path.name}": path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def encoder_of(
    files: Mapping[str, bytes], config: Mapping[str, Any], options: EncoderOptions, threads: int
) -> Encoder | None:
    """Return the static encoder that a run keeps, None where it keeps none or another encoder is named.

    Args:
        files: as of `files_in`. config: of the run.

    Raises:
        ValueError: the files are damaged.
    """
    if not files or options.encoder is not None:
        return None
    from nlpkit.embed.static import static_encoder
    from nlpkit.embed.tokens import NO_LIMIT

    most = config["encoder"]["max_tokens"]
    content = {name.removeprefix(f"{FOLDER}/"): data for name, data in files.items()}
    return static_encoder(
        content, config["encoder"]["static"], threads=threads, max_tokens=None if most == NO_LIMIT else most
    )


def files_of(model: StaticModel | None) -> dict[str, bytes]:
    """Return the files of a static encoder by their path below model/, none for None."""
    return {} if model is None else {f"{FOLDER}/{name}": data for name, data in model.files().items()}
