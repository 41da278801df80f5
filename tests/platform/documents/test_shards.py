"""Parts of a document table: put together they are the bytes of one process, whatever the command and the number of parts."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nlpkit as nk
from nlpkit.embed.options import DocumentMethodOptions, EncoderOptions, SbertOptions
from nlpkit.errors import InputError, NlpkitError, OutputExistsError, UsageError
from nlpkit.features.options import TextFeatureOptions
from nlpkit.lm.spelling import SpellOptions
from nlpkit.metrics.options import GateOptions
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.parts import ShardOptions, Share, parse_share
from nlpkit.platform.documents.readers.parquet import ParquetInput
from nlpkit.platform.documents.shard_files import read_shard
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.artifacts import read_footer
from nlpkit.predict.options import PredictOptions
from nlpkit.text.lexicon.options import SentimentOptions
from nlpkit.text.options import DocumentTextOptions, RowOptions
from nlpkit.zero_shot.options import ZeroShotOptions
from tests.command_line import needs_torch
from tests.few import few

READ = ReadOptions(batch_rows=30)
WORDS = [
    "river",
    "boat",
    "bridge",
    "judge",
    "court",
    "trial",
    "moon",
    "orbit",
    "rocket",
    "bank",
    "flood",
    "good",
    "bad",
    "sad",
    "happy",
]
ODD = [
    "",
    " ",
    "don't U.S.A. state-of-the-art",
    "😀 <p>river &amp; boat</p>",
    "日本語です",
    "x" * 300,
    "2024 7.5 http://a.b/c",
]


def rows(n: int = 250) -> list[dict[str, Any]]:
    """Documents of which some have no text, and some columns are lists and numbers."""
    texts: list[str | None] = [
        " ".join(f"{WORDS[(i * k + k * k) % len(WORDS)]}" for k in range(3, 4 + i % 20))
        + f" the word{i % 40}. New sentence {i}."
        for i in range(n)
    ]
    for i in range(0, n, 17):
        texts[i] = None
    for i in range(5, n, 23):
        texts[i] = ODD[i % len(ODD)]
    return [
        {"text": text, "label": "ab"[i % 2], "tags": WORDS[: i % 3], "rating": i / 7 if i % 5 else None}
        for i, text in enumerate(texts)
    ]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shards") / "corpus.jsonl"
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows()) + "\n", encoding="utf-8")
    return path


def parts_of(
    command: str, source: Path, folder: Path, n: int, *, read: ReadOptions = READ, **settings: Any
) -> list[Path]:
    """Make n parts and return their files, the last first."""
    folder.mkdir(exist_ok=True)
    files = [folder / f"part-{i}.parquet" for i in range(n, 0, -1)]
    for i, file in zip(range(n, 0, -1), files, strict=True):
        nk.map_documents(command, source, target=file, read=read, sharing=ShardOptions(shard=f"{i}/{n}"), **settings)
    return files


def check_equal(
    command: str, source: Path, folder: Path, numbers: Sequence[int] = (3,), read: ReadOptions = READ, **settings: Any
) -> Path:
    """The table of one process, and those of parts, which must be the same bytes, as must the lists of dropped rows."""
    whole = folder / "whole.parquet"
    summary = nk.map_documents(command, source, target=whole, read=read, **settings)
    listed = folder / "whole.dropped.parquet"
    for n in numbers:
        merged = folder / f"merged-{n}.parquet"
        counts = nk.merge(parts_of(command, source, folder / f"of-{n}", n, read=read, **settings), merged)
        assert merged.read_bytes() == whole.read_bytes(), n
        other = folder / f"merged-{n}.dropped.parquet"
        assert other.is_file() == listed.is_file()
        assert not listed.is_file() or other.read_bytes() == listed.read_bytes()
        assert counts["parts"] == n
        assert counts["dropped"] == summary.get("dropped", counts["dropped"])
    return whole


# ---------------------------------------------------------------- how documents are divided


def test_a_share_is_whole_batches() -> None:
    for of in range(1, 12):
        for n_batches in range(of, 30):
            places = [list(Share(i, of).places(n_batches)) for i in range(1, of + 1)]
            assert list(chain.from_iterable(places)) == list(range(n_batches))
            assert all(places)
            assert max(map(len, places)) - min(map(len, places)) <= 1


@pytest.mark.parametrize("text", ["", "2", "0/3", "4/3", "1/0", "-1/3", "1/3/5", "a/b", "1.0/2", "١/٣"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"`shard` takes I/N"):
        parse_share(text)


def test_a_share_has_the_ids_and_dropped_rows_of_the_whole(corpus: Path) -> None:
    whole = nk.read_corpus(corpus, options=READ)
    with whole.open() as stream:
        ids = stream.read_all()["id"].to_pylist()
    dropped, seen = [row.id for row in stream.dropped], []
    seen_dropped = []
    for i in range(1, 5):
        with whole.with_options(shard=f"{i}/4").open() as part:
            seen += part.read_all()["id"].to_pylist()
        seen_dropped += [row.id for row in part.dropped]
        assert part.inputs[0].sha256 == stream.inputs[0].sha256
        assert (part.inputs[0].rows, part.inputs[0].reading) == (250, {"shard": f"{i}/4"})
    assert seen == ids
    assert seen_dropped == dropped
    assert len(dropped) == 14


@pytest.mark.parametrize(
    "read",
    [
        {"where": "the"}, {"keep_if": "label == 'a'"}, {"sample": 200}, {"limit": 200}, {"sample": 150, "limit": 140, "where": "the"},
        {"id_col": "text"}, {"text_col": "text,label"},
    ],
    ids=str,
)  # fmt: skip
def test_documents_are_chosen_before_they_are_divided(read: dict[str, Any], corpus: Path, tmp_path: Path) -> None:
    if read.get("id_col"):
        unique = [{"text": f"{i} river", "n": i} for i in range(200)]
        corpus = tmp_path / "unique.jsonl"
        corpus.write_text("\n".join(map(json.dumps, unique)), encoding="utf-8")
    check_equal("features", corpus, tmp_path, (2,), ReadOptions(batch_rows=30, **read))


def test_several_inputs_of_several_formats(corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "inputs"
    folder.mkdir()
    shutil.copy(corpus, folder / "a.jsonl")
    table = pa.Table.from_pylist([{**row, "id": f"p{i}"} for i, row in enumerate(rows(100))])
    pq.write_table(table, folder / "b.parquet", row_group_size=17)
    (folder / "c.csv").write_text("text,label\nriver boat,a\nmoon orbit,b\n", encoding="utf-8")
    check_equal("features", folder, tmp_path, (3,))


def test_more_parts_than_batches_are_refused(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the input has 8 batches .* divide it into 8 at most"):
        parts_of("features", corpus, tmp_path, 9)
    assert list(tmp_path.iterdir()) == []


def test_an_input_without_documents_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"text": null}\n', encoding="utf-8")
    with pytest.raises(InputError, match="no documents"):
        parts_of("features", tmp_path / "x.jsonl", tmp_path / "of", 2)


# ---------------------------------------------------------------- every command


@pytest.mark.parametrize(("include", "n"), [("all", 3), ("words,lix", 8)])
def test_features(include: str, n: int, corpus: Path, tmp_path: Path) -> None:
    check_equal(
        "features", corpus, tmp_path, (n,), options=TextFeatureOptions(include=include, bins=("words:edges:5,10",))
    )


def test_sentiment(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("good\t1\nhappy\t2\nbad\t-1\nsad\t-2\n", encoding="utf-8")
    whole = check_equal("sentiment", corpus, tmp_path, options=SentimentOptions(lexicon=str(tmp_path / "words.tsv")))
    block = read_footer(whole)
    assert block is not None
    assert block["parameters"]["found"]["documents"] == 236


PREPROCESSED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "default": ({}, {}),
    "all words": ({"min_df": "1", "stop_words": "none"}, {}),
    "bounds": ({"min_df": "0.02", "max_df": "0.4", "min_cf": "3"}, {}),
    "phrases": ({"phrases": "npmi:0.1"}, {}),
    "n-grams": ({"ngrams": "1,3", "max_vocab": 300}, {}),
    "characters": ({"tokenizer": "chars:2-3"}, {}),
    "stems": ({"stem": "auto", "auto_stop": 0.5}, {}),
    "lists": ({"vocab": ("moon", "river", "never"), "stop_words": ("moon",)}, {}),
    "sentences": ({"lemma": "dict"}, {"unit": "sentence"}),
    "kinds": ({"keep": "number,url,emoji", "html": True}, {}),
}


@pytest.mark.parametrize("name", few(PREPROCESSED, 5))
def test_preprocess(name: str, corpus: Path, tmp_path: Path) -> None:
    tokens, units = PREPROCESSED[name]
    check_equal("preprocess", corpus, tmp_path, tokens=DocumentTextOptions(**tokens), rows=RowOptions(**units))


def test_preprocess_of_a_table_with_tokens(corpus: Path, tmp_path: Path) -> None:
    """The column is made anew at its place, before the columns that come after it."""
    table = nk.preprocess(nk.read_corpus(corpus, options=READ), min_df=1).table()
    other = table.append_column("last", table["label"])
    pq.write_table(other, tmp_path / "x.parquet", row_group_size=40)
    check_equal("preprocess", tmp_path / "x.parquet", tmp_path, (5,), tokens=DocumentTextOptions(stem="auto"))


def test_merged_terms_are_those_of_one_process(corpus: Path, tmp_path: Path) -> None:
    tokens = DocumentTextOptions(phrases="npmi:0.1")
    nk.preprocess(nk.read_corpus(corpus, options=READ), tokens=tokens).save(
        tmp_path / "whole.parquet", vocab=tmp_path / "terms.parquet"
    )
    parts = parts_of("preprocess", corpus, tmp_path / "of", 8, tokens=tokens)
    nk.merge(parts, tmp_path / "merged.parquet", vocab=tmp_path / "merged-terms.parquet")
    assert (tmp_path / "merged-terms.parquet").read_bytes() == (tmp_path / "terms.parquet").read_bytes()


def test_a_part_of_preprocess_is_no_table_of_documents(corpus: Path, tmp_path: Path) -> None:
    part = parts_of("preprocess", corpus, tmp_path, 2)[0]
    with pytest.raises(InputError, match="is one part of a table; combine the parts with: `merge"):
        nk.read_corpus(part).table()
    with pytest.raises(UsageError, match="the vocabulary depends on all documents; write the part with"):
        nk.preprocess(nk.read_corpus(corpus, options=READ), shard="1/2")


def test_a_list_that_changed_between_the_parts_and_the_merge(corpus: Path, tmp_path: Path) -> None:
    words = tmp_path / "stop.txt"
    words.write_text("moon\nriver\n", encoding="utf-8")
    parts = parts_of("preprocess", corpus, tmp_path / "of", 2, tokens=DocumentTextOptions(stop_words=str(words)))
    words.write_text("moon\n", encoding="utf-8")
    with pytest.raises(InputError, match="a file that `extra_stop_words` names has changed since the parts were made"):
        nk.merge(parts, tmp_path / "merged.parquet")
    assert not (tmp_path / "merged.parquet").exists()


@pytest.fixture(scope="module")
def models(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    documents = nk.read_corpus(corpus, options=ReadOptions(limit=120))
    fits: dict[str, Callable[[], Any]] = {
        "lda": lambda: nk.fit_lda(documents, k=3, sweeps=20),
        "nmf": lambda: nk.fit_nmf(documents, k=3),
        "classify": lambda: nk.train_classifier(documents, model="nb"),
        "ngram-lm": lambda: nk.fit_language_model(documents, order=2, smoothing="witten-bell"),
    }
    return {name: fit().save(folder / name) for name, fit in fits.items()}


@pytest.mark.parametrize("kind", ["lda", "nmf", "classify", "ngram-lm"])
def test_predict(kind: str, models: Mapping[str, Path], corpus: Path, tmp_path: Path) -> None:
    check_equal("predict", corpus, tmp_path, model=models[kind], options=PredictOptions())


@pytest.mark.parametrize("apply", [False, True])
def test_spell(apply: bool, models: Mapping[str, Path], corpus: Path, tmp_path: Path) -> None:
    check_equal("spell", corpus, tmp_path, model=models["ngram-lm"], options=SpellOptions(apply=apply))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    from tests.finetune.tiny import tiny_sentence_model

    return str(tiny_sentence_model(tmp_path_factory.mktemp("encoder"), words=WORDS))


@needs_torch
def test_sbert_embed(encoder: str, corpus: Path, tmp_path: Path) -> None:
    check_equal("sbert-embed", corpus, tmp_path, options=SbertOptions(encoder=encoder, offline=True))


@needs_torch
def test_zero_shot(encoder: str, corpus: Path, tmp_path: Path) -> None:
    options = ZeroShotOptions(labels="a: river boat; b: moon")
    settings = {"options": options, "encoder": EncoderOptions(encoder=encoder, offline=True)}
    check_equal("zero-shot", corpus, tmp_path, **settings)


@pytest.mark.parametrize(
    ("command", "settings", "parameter"),
    [
        ("preprocess", {"rows": RowOptions(dedupe="exact")}, "dedupe"),
        ("features", {"options": TextFeatureOptions(bins=("words:4",))}, "bins"),
        ("sentiment", {"options": SentimentOptions(lexicon="x", lex2sent=True)}, "lex2sent"),
        (
            "sentiment",
            {"options": SentimentOptions(lexicon="x"), "gates": GateOptions(fail_under="f1=1")},
            "fail_under",
        ),
        ("sbert-embed", {"kind": DocumentMethodOptions(method="doc2vec")}, "method"),
        ("predict", {"model": "x", "options": PredictOptions(explain=("a",))}, "explain"),
    ],
)
def test_what_needs_all_documents_is_refused(
    command: str, settings: Any, parameter: str, corpus: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=f"`{parameter}` of {command} needs all documents") as raised:
        parts_of(command, corpus, tmp_path, 2, **settings)
    assert raised.value.parameter == parameter


def test_settings_are_those_of_the_command(corpus: Path, tmp_path: Path) -> None:
    target = tmp_path / "x.parquet"
    with pytest.raises(UsageError, match="`command=stats` is not known"):
        nk.map_documents("stats", corpus, target=target)
    with pytest.raises(UsageError, match="`settings=rows` is not known"):
        nk.map_documents("features", corpus, target=target, rows=RowOptions())
    with pytest.raises(UsageError, match="`model` is needed for predict"):
        nk.map_documents("predict", corpus, target=target)


# ---------------------------------------------------------------- what is put together


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus as Parquet, of which a batch is read at a time: each part has dropped rows."""
    path = tmp_path_factory.mktemp("shards") / "table.parquet"
    pq.write_table(pa.Table.from_pylist(rows()), path, row_group_size=30)
    return path


@pytest.fixture
def parts(table: Path, tmp_path: Path) -> list[Path]:
    return parts_of("features", table, tmp_path / "of", 3)


def test_each_part_lists_its_own_dropped_rows(table: Path, tmp_path: Path) -> None:
    check_equal("features", table, tmp_path)
    check_equal("preprocess", table, tmp_path / "of-3")


def test_a_folder_of_parts(parts: list[Path], tmp_path: Path) -> None:
    """The lists of dropped rows in it are no parts of their own."""
    assert len(list(parts[0].parent.glob("*.dropped.parquet"))) == 3
    nk.merge(parts, tmp_path / "a.csv")
    nk.merge([parts[0].parent], tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    with pytest.raises(OutputExistsError):
        nk.merge(parts, tmp_path / "a.csv")
    assert nk.merge(parts, tmp_path / "a.csv", force=True) == {"parts": 3, "rows": 236, "dropped": 14}


def refused(parts: Sequence[Path], folder: Path, error: type[NlpkitError], match: str) -> None:
    with pytest.raises(error, match=match):
        nk.merge(parts, folder / "merged.parquet")
    assert not [path for path in folder.iterdir() if "merged" in path.name]


def test_a_missing_or_double_part(parts: list[Path], tmp_path: Path) -> None:
    refused(parts[:2], tmp_path, InputError, r"1 part of 3 missing: 1/3; make them with `shard=1/3`")
    refused([parts[1]], tmp_path, InputError, r"2 parts of 3 missing: 1/3, 3/3")
    copy = tmp_path / "copy.parquet"
    shutil.copy(parts[1], copy)
    refused([*parts, copy], tmp_path, InputError, r"part 2/3 occurs twice: .*part-2.parquet and .*copy.parquet")
    refused([], tmp_path, InputError, "found no parts to merge; name the files written with")
    refused([*parts, tmp_path / "none.parquet"], tmp_path, InputError, "none.parquet does not exist")


def test_parts_of_other_tables(parts: list[Path], table: Path, tmp_path: Path) -> None:
    two = parts_of("features", table, tmp_path / "two", 2)
    refused([parts[2], two[0]], tmp_path, InputError, "parts of 3 in .* of 2 in")
    words = parts_of("features", table, tmp_path / "words", 3, options=TextFeatureOptions(include="words"))
    refused([parts[2], *words[:2]], tmp_path, InputError, "differ in `features`, `include`")
    limited = parts_of("features", table, tmp_path / "limited", 3, read=ReadOptions(batch_rows=30, limit=200))
    refused([parts[2], *limited[:2]], tmp_path, InputError, "merge parts of the same table")
    changed = tmp_path / "table.parquet"
    pq.write_table(pq.read_table(table).slice(1), changed, row_group_size=30)
    others = parts_of("features", changed, tmp_path / "others", 3)
    refused([parts[2], *others[:2]], tmp_path, InputError, "merge parts of the same table")
    tokens = parts_of("preprocess", table, tmp_path / "tokens", 3)
    refused([parts[2], *tokens[:2]], tmp_path, InputError, "merge parts of the same table")
    nk.map_documents("features", table, target=tmp_path / "w.parquet")
    refused([tmp_path / "w.parquet"], tmp_path, InputError, "is not a part of a table: it was not written with `shard`")


def test_parts_of_another_version(
    parts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: Path
) -> None:
    monkeypatch.setattr("nlpkit.platform.runs.artifacts.__version__", "0.0.9")
    older = parts_of("features", table, tmp_path / "older", 3)
    refused([parts[2], *older[:2]], tmp_path, InputError, "merge parts of the same table")


def merged_bytes(parts: Sequence[Path], folder: Path) -> bytes | NlpkitError:
    """What merging gives: the bytes of the table, or the error, after which there is no table."""
    target = folder / "merged.parquet"
    try:
        nk.merge(parts, target)
    except NlpkitError as error:
        assert list(folder.iterdir()) == []
        return error
    return target.read_bytes()


@pytest.mark.parametrize("command", ["features", "preprocess"])
def test_a_corrupt_part_is_told_wherever_a_byte_is_wrong(command: str, corpus: Path, tmp_path: Path) -> None:
    parts = parts_of(command, corpus, tmp_path / "of", 2)
    (tmp_path / "whole").mkdir()
    whole, sound, n_told = merged_bytes(parts, tmp_path / "whole"), parts[0].read_bytes(), 0
    for at in range(4, len(sound) - 1, max(1, len(sound) // 25)):
        broken = bytearray(sound)
        broken[at] ^= 0x40
        parts[0].write_bytes(bytes(broken))
        folder = tmp_path / str(at)
        folder.mkdir()
        outcome = merged_bytes(parts, folder)
        if isinstance(outcome, NlpkitError):
            assert outcome.exit_code == 3
            assert re.search(r"part-2\.parquet|not of one table|changed since", str(outcome)), outcome
            n_told += 1
        else:  # a byte of statistics and the like, of which nothing is made
            assert outcome == whole
    assert n_told > 12
    parts[0].write_bytes(sound[: len(sound) // 2])
    with pytest.raises(InputError, match=r"part-2\.parquet is not a readable Parquet file.*; make the part again"):
        nk.merge(parts, tmp_path / "merged.parquet")


def test_a_lost_list_of_dropped_rows_is_told(parts: list[Path], tmp_path: Path) -> None:
    listed = parts[1].with_name("part-2.dropped.parquet")
    rows = pq.read_table(listed)
    listed.unlink()
    refused(
        parts,
        tmp_path,
        InputError,
        r"lists 5 rows that could not be used in .*part-2.dropped.parquet, which is not there",
    )
    pq.write_table(rows.slice(1), listed)
    refused(parts, tmp_path, InputError, "which has 4 of them; make the part again")


def test_a_part_says_which_one_it_is(parts: list[Path]) -> None:
    part = read_shard(parts[0])
    assert part is not None
    assert (part.share, part.n_dropped, part.verify()) == (Share(3, 3), 4, 66)
    block = read_footer(parts[0])
    assert block is not None
    assert block["shard"] == {"index": 3, "of": 3, "counts": [], "dropped": 4}


@pytest.mark.parametrize(
    ("sharing", "target", "match"),
    [
        ({"shard": "1/2"}, "x.csv", "a part is a Parquet file"),
        ({"shard": "1/2"}, "-", "a part is a Parquet file"),
        ({"shard": "1/2", "workers": 2}, "x.parquet", "makes one part, and Ray makes all of them; leave one out"),
        ({"resume": True}, "x.parquet", "`resume` needs Ray workers"),
        ({"shard_timeout": 3.0}, "x.parquet", "`shard_timeout` needs Ray workers"),
        ({"workers": 2}, "-", "the parts are written beside the output"),
    ],
)
def test_options_that_contradict_each_other(sharing: Any, target: str, match: str, table: Path, tmp_path: Path) -> None:
    name = target if target == "-" else tmp_path / target
    with pytest.raises(UsageError, match=match):
        nk.map_documents(
            "features", table, target=name, read=READ, execution=Execution(), sharing=ShardOptions(**sharing)
        )


# ---------------------------------------------------------------- what is read of a table for a share


def test_of_parquet_only_the_rows_of_a_share_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids and texts are read once for all; then whole row groups before the share are passed over, and all columns come with it."""
    folder = tmp_path / "tables"
    folder.mkdir()
    every = [{**row, "id": f"i{i}", "text": None if 100 <= i < 140 else row["text"]} for i, row in enumerate(rows())]
    for name, part in (("a", every[:90]), ("b", every[90:91]), ("c", every[91:])):
        pq.write_table(pa.Table.from_pylist(part), folder / f"{name}.parquet", row_group_size=45)
    decoded: list[tuple[tuple[str, ...], int]] = []
    real = ParquetInput.batches

    def counted(self: ParquetInput, columns: Sequence[str], *rest: Any) -> Any:
        for batch in real(self, columns, *rest):
            decoded.append((tuple(columns), batch.num_rows))
            yield batch

    monkeypatch.setattr(ParquetInput, "batches", counted)
    whole = nk.read_corpus(folder, options=ReadOptions(batch_rows=20))
    table = whole.table()
    parts = []
    for i in range(1, 6):
        decoded.clear()
        parts.append(whole.with_options(shard=f"{i}/5").table())
        assert sum(n for columns, n in decoded if "tags" not in columns) == 250
        assert sum(n for columns, n in decoded if "tags" in columns) <= 110
    assert pa.concat_tables(parts).equals(table)
    check_equal("features", folder, tmp_path, (5,), ReadOptions(batch_rows=20))
    check_equal(
        "features",
        folder,
        tmp_path / "of-5",
        (3,),
        ReadOptions(batch_rows=20, keep_if="rating > 5", types=("rating=float",)),
    )


def test_a_share_of_a_data_frame() -> None:
    corpus = nk.Corpus.from_texts([f"river {i}" for i in range(100)]).with_options(batch_rows=9)
    parts = [corpus.with_options(shard=f"{i}/4").table() for i in range(1, 5)]
    assert pa.concat_tables(parts).equals(corpus.table())


def test_stdin_cannot_be_divided() -> None:
    with pytest.raises(UsageError, match="stdin can only be read once, and a part needs the length of"):
        nk.read_corpus("-", options=ReadOptions(shard="1/2")).table()
