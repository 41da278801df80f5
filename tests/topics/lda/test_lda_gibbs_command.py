"""nlpkit lda-gibbs: the run directory, the same bytes on any number of threads, estimates, exports, guidance, prototypes."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from nlpkit.platform.runs.runs import DOC_TOPICS, VOCAB
from nlpkit.report.prose import methods
from nlpkit.topics.base.tables import MIXTURE_TERMS, MIXTURE_TOPICS
from nlpkit.topics.lda import PRIORS
from tests.command_line import (
    NEWS,
    WORDS,
    Done,
    contents,
    files,
    footer,
    manifest,
    planted_rows,
    read,
    run_cli,
    topics_of,
    write_jsonl,
)

K = 4
TABLES = ("documents", "topics", "topic_terms", "doc_topics", "vocab")
CHAIN = ["--k", "4", "--sweeps", "60"]


def rows_of(**change: Any) -> list[dict[str, Any]]:
    """The planted documents without embeddings."""
    return [{k: v for k, v in {**row, **change}.items() if k != "embedding"} for row in planted_rows()]


@pytest.fixture(scope="session")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The planted corpus after preprocess, every thirtieth document empty."""
    folder = tmp_path_factory.mktemp("lda")
    rows = rows_of()
    for row in rows[::30]:
        row["text"] = "and the" if row["n"] else ""
    run_cli("preprocess", write_jsonl(folder / "x.jsonl", rows), "-q", "-o", folder / "docs.parquet")
    return folder / "docs.parquet"


@pytest.fixture(scope="session")
def lda(docs: Path) -> Path:
    """A run on it with all that can be written beside it."""
    run = docs.parent / "run"
    state, vis = docs.parent / "state.gz", docs.parent / "vis.json"
    run_cli("lda-gibbs", docs, *CHAIN, "--save-assignments", "-q", "-o", run)
    run_cli("convert", run, "-q", "-o", state)
    run_cli("convert", run, "-q", "-o", vis)
    return run


def results(run: Path | str) -> dict[str, Any]:
    found: dict[str, Any] = manifest(run)["results"]
    return found


def counts(run: Path | str) -> Any:
    """n_kv (K, V) of a run."""
    table = read(Path(run) / "model" / "topic_term.parquet")
    found = np.zeros((results(run)["n_topics"], read(Path(run) / "vocab.parquet").num_rows))
    found[table["topic"].to_numpy(), table["term_id"].to_numpy()] = table["count"].to_numpy()
    return found


# ---------------------------------------------------------------- the run directory


def test_planted_topics_come_back(lda: Path) -> None:
    topics, documents = read(lda / "topics.parquet"), read(lda / "documents.parquet")
    assert topics["size"].to_pylist() == [30, 30, 28, 28]
    assert topics["share"].to_pylist() == pytest.approx([1 / K] * K, abs=0.02)
    for words in topics["top_terms"].to_pylist():
        assert any(set(words) - {"number"} <= set(w.split()) for w in WORDS.values())
    found = {row["label"]: row["topic"] for row in documents.to_pylist() if row["topic"] >= 0}
    assert sorted(found.values()) == list(range(K))
    assert all(row["topic"] in (-1, found[row["label"]]) for row in documents.to_pylist())


def test_files_and_columns(lda: Path) -> None:
    found = {
        "manifest.json", "model/config.json", "model/topic_term.parquet", "model/alpha.parquet",
        "model/doc_topic.parquet", "model/training.parquet",
    }  # fmt: skip
    assert set(files(lda)) == found | {f"{name}.parquet" for name in (*TABLES, "assignments")}
    schema = {name: read(lda / f"{name}.parquet").schema.remove_metadata() for name in (*TABLES, "assignments")}
    own = [("id", pa.string()), ("topic", pa.int32()), ("topic_prob", pa.float32()), ("nearest_topic", pa.int32()),
           ("margin", pa.float32())]  # fmt: skip
    assert list(schema["documents"])[:5] == [pa.field(*column) for column in own]
    assert schema["documents"].names[5:] == ["label", "date", "n"]
    for table in (MIXTURE_TOPICS, MIXTURE_TERMS, DOC_TOPICS, VOCAB):
        assert schema[table.name.partition("_of_")[0]] == table.schema


def test_footers(lda: Path, docs: Path) -> None:
    kinds = {"documents": "run_documents", "model/topic_term": "model/topic_term", "model/alpha": "model/alpha"}
    for name in (*TABLES, "assignments", "model/topic_term", "model/alpha"):
        block = footer(lda / f"{name}.parquet")
        assert (block["kind"], block["schema_version"], block["command"]) == (kinds.get(name, name), 1, "lda-gibbs")
        assert (block["seed"], block["inputs"][0]["rows"]) == (42, 120)
        assert block["parameters"]["tokens"] == footer(docs)["parameters"]
        assert (block["parameters"]["sweeps"], block["parameters"]["n_topics"]) == (60, K)
        assert "threads" not in block["parameters"]
        assert [step["command"] for step in block["steps"]] == ["preprocess"]


def test_the_manifest_lists_every_file_with_its_hash(lda: Path) -> None:
    found = {name: hashlib.sha256(data).hexdigest() for name, data in contents(lda).items()}
    assert (manifest(lda)["outputs"], manifest(lda)["kind"]) == (found, "lda-gibbs")
    assert (manifest(lda)["seed"], manifest(lda)["inputs"][0]["rows"]) == (42, 120)
    assert set(manifest(lda)["seconds"]) == {"read", "guidance", "sampling", "description"}


def test_every_document_has_its_row(lda: Path) -> None:
    documents, rows = read(lda / "documents.parquet"), rows_of()
    assert documents["id"].to_pylist() == [row["id"] for row in rows]
    assert documents["n"].to_pylist() == [row["n"] for row in rows]
    empty = documents.filter(pc.less(documents["topic"], 0)).to_pylist()
    assert [row["n"] for row in empty] == [0, 30, 60, 90]
    assert {(row["topic_prob"], row["nearest_topic"], row["margin"]) for row in empty} == {(0, -1, 0)}
    assert sum(read(lda / "topics.parquet")["size"].to_pylist()) + len(empty) == len(rows)
    assert results(lda)["unassigned"] == pytest.approx(4 / 120, abs=1e-6)


def test_topics_of_documents_follow_from_doc_topics(lda: Path) -> None:
    theta: dict[str, dict[int, float]] = defaultdict(dict)
    for row in read(lda / "doc_topics.parquet").to_pylist():
        theta[row["id"]][row["topic"]] = row["prob"]
    documents = [row for row in read(lda / "documents.parquet").to_pylist() if row["topic"] >= 0]
    assert list(theta) == [row["id"] for row in documents]
    for row in documents:
        here = theta[row["id"]]
        assert row["topic_prob"] == max(here.values()) == here[row["topic"]]
        second = sorted(here.values())[-2] if len(here) > 1 else None
        if second is not None:
            assert row["margin"] == pytest.approx(row["topic_prob"] - second, abs=1e-6)
        assert row["nearest_topic"] == row["topic"]
    total = sum(read(lda / "doc_topics.parquet")["prob"].to_pylist())
    assert total + results(lda)["doc_topics_left_out"] == pytest.approx(len(documents), abs=1e-4)


def test_the_perplexity_in_sample_is_the_lectures(lda: Path) -> None:
    # theta and phi from the topics of the tokens, by hand: exp(-mean log sum_k theta_dk phi_kw)
    tokens = pl.read_parquet(lda / "assignments.parquet").cast({"id": pl.String, "term": pl.String})
    alpha = pl.read_parquet(lda / "model" / "alpha.parquet")["alpha"].to_numpy()
    manifest = json.loads((lda / "manifest.json").read_text(encoding="utf-8"))
    eta = manifest["results"]["eta"]
    d, v, z = (np.unique(tokens[name].to_numpy(), return_inverse=True)[1] for name in ("id", "term", "topic"))
    n_dk, n_kv = np.zeros((d.max() + 1, len(alpha))), np.zeros((len(alpha), v.max() + 1))
    np.add.at(n_dk, (d, z), 1)
    np.add.at(n_kv, (z, v), 1)
    theta = (n_dk + alpha) / (n_dk + alpha).sum(axis=1, keepdims=True)
    phi = (n_kv + eta) / (n_kv + eta).sum(axis=1, keepdims=True)
    expected = np.exp(-np.log((theta[d] * phi[:, v].T).sum(axis=1)).mean())
    assert manifest["results"]["perplexity_in_sample"] == pytest.approx(expected, rel=1e-5)


def test_the_vocabulary_counts_the_tokens(lda: Path, docs: Path) -> None:
    tokens = read(docs)["tokens"].to_pylist()
    cf = Counter(term for document in tokens for term in document)
    df = Counter(term for document in tokens for term in set(document))
    assert read(lda / "vocab.parquet").to_pylist() == [{"term": t, "cf": cf[t], "df": df[t]} for t in sorted(cf)]
    assert counts(lda).sum(axis=0).tolist() == [cf[t] for t in sorted(cf)]
    assert results(lda)["tokens"] == cf.total()


def test_terms_of_topics(lda: Path) -> None:
    n_kv, eta = counts(lda), manifest(lda)["parameters"]["eta_in_force"]
    terms = read(lda / "vocab.parquet")["term"].to_pylist()
    V = len(terms)
    for k in range(K):
        rows = [row for row in read(lda / "topic_terms.parquet").to_pylist() if row["topic"] == k]
        assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
        expected = sorted(np.flatnonzero(n_kv[k]), key=lambda v: (-n_kv[k, v], v))
        assert [row["term"] for row in rows] == [terms[v] for v in expected]
        phi = (n_kv[k, expected] + eta) / (n_kv[k].sum() + V * eta)
        assert [row["weight"] for row in rows] == pytest.approx(phi, rel=1e-6)
        lift = phi / (n_kv.sum(axis=0)[expected] / n_kv.sum())
        assert [row["lift"] for row in rows] == pytest.approx(lift, rel=1e-6)
        assert [row["relevance"] for row in rows] == pytest.approx(0.6 * np.log(phi) + 0.4 * np.log(lift), rel=1e-5)
        # a reader is shown the most relevant words
        relevance = dict(zip(expected, [row["relevance"] for row in rows], strict=True))
        shown = read(lda / "topics.parquet")["top_terms"][k].as_py()
        best = sorted(relevance.values(), reverse=True)[:10]
        number = {term: v for v, term in enumerate(terms)}
        assert [relevance[number[term]] for term in shown] == pytest.approx(best)


def test_representative_documents(lda: Path, docs: Path) -> None:
    texts = dict(zip(*(read(docs)[n].to_pylist() for n in ("id", "text")), strict=True))
    topics = topics_of(lda)
    for row in read(lda / "topics.parquet").to_pylist():
        assert len(row["representative_ids"]) == 3
        assert {topics[i] for i in row["representative_ids"]} == {row["topic"]}
        assert row["representative_texts"] == [texts[i] for i in row["representative_ids"]]


def test_topics_are_numbered_by_size(tmp_path: Path) -> None:
    rows = [row for row in rows_of() if row["n"] % 4 < 1 + row["n"] // 30]  # 30, 22, 15, 8 documents of the topics
    run_cli("lda-gibbs", write_jsonl(tmp_path / "x.jsonl", rows), *CHAIN, "-q", "-o", "run")
    sizes = read("run/topics.parquet")["size"].to_pylist()
    assert sizes == sorted(Counter(row["label"] for row in rows).values(), reverse=True)
    topics = Counter(topics_of(Path("run")).values())
    assert sizes == [topics[k] for k in range(K)]


def test_what_is_printed(docs: Path) -> None:
    done = run_cli("lda-gibbs", docs, *CHAIN, "-o", "run")
    each = "alpha 0.25 and eta 0.25 each (alpha re-estimated every 10 sweeps)"
    assert f"LDA of 4 topics: {each}, 60 sweeps over 1,508 tokens" in done.err
    assert f"alpha sums to {results('run')['alpha_sum']:.4g}, eta 0.25 each" in done.err
    assert "wrote run/; next: nlpkit info run" in done.err
    firsts = [line[:5].strip() for line in done.out.splitlines()[2:]]
    assert [first for first in firsts if first] == ["0", "1", "2", "3", "-1"]
    assert "(no tokens)" in done.out


def test_one_json_object(docs: Path, lda: Path) -> None:
    done = run_cli("lda-gibbs", docs, *CHAIN, "--json", "-o", "run")
    found = done.json()
    assert found.pop("topics") == read("run/topics.parquet").to_pylist()
    assert found.pop("run") == "run"
    assert found == {k: v for k, v in results("run").items() if k in found}
    assert (found["documents"], found["tokens"], found["n_topics"], found["sweeps"]) == (120, 1508, 4, 60)
    quiet = run_cli("lda-gibbs", docs, *CHAIN, "--json", "-q", "-f", "-o", "run")
    assert (quiet.err, quiet.json()["log_likelihood_per_token"]) == ("", results(lda)["log_likelihood_per_token"])


# ---------------------------------------------------------------- where documents come from, where the run goes


def test_raw_text_gives_what_its_tokens_give(docs: Path, lda: Path) -> None:
    done = run_cli("lda-gibbs", docs.with_name("x.jsonl"), *CHAIN, "-o", "run")
    assert "120 documents: 1,508 tokens" in done.err
    for name in (*TABLES, "model/topic_term", "model/alpha"):
        assert read(f"run/{name}.parquet").equals(read(lda / f"{name}.parquet")), name
    how = footer("run/topics.parquet")["parameters"]["tokens"]
    assert how == {name: footer(docs)["parameters"][name] for name in how}
    assert how["stop_words"] == "auto"


def test_tokens_of_others_are_used(tmp_path: Path) -> None:
    rows = [{"id": str(i), "text": "", "tokens": ["Über", "the", "Ω"][: i % 4]} for i in range(8)]
    run_cli("lda-gibbs", write_jsonl(tmp_path / "x.jsonl", rows), "--k", "2", "--sweeps", "5", "-q", "-o", "run")
    assert read("run/vocab.parquet").to_pylist() == [
        {"term": "the", "cf": 4, "df": 4},
        {"term": "Über", "cf": 6, "df": 6},
        {"term": "Ω", "cf": 2, "df": 2},
    ]
    assert manifest("run")["parameters"]["tokens"] is None
    assert topics_of(Path("run"))["0"] == topics_of(Path("run"))["4"] == -1


def test_options_of_tokens_do_not_go_with_tokens(docs: Path) -> None:
    says = run_cli("lda-gibbs", docs, *CHAIN, "--min-df", "3", "-o", "run", code=2).error()
    assert "--min-df" in says
    assert "tokens" in says
    assert list(Path().iterdir()) == []


def test_a_pipe_and_a_run_in_the_current_directory(docs: Path, lda: Path, tmp_path: Path) -> None:
    text = docs.with_name("x.jsonl").read_text(encoding="utf-8")
    run_cli("lda-gibbs", "-", "--format", "jsonl", *CHAIN, "-q", input=text)
    assert read("stdin.lda/topics.parquet").equals(read(lda / "topics.parquet"))
    Path("x.jsonl").write_text(text, encoding="utf-8")
    assert "wrote x.lda/" in run_cli("lda-gibbs", "x.jsonl", *CHAIN).err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["stdin.lda", "x.jsonl", "x.lda"]


def test_embeddings_do_not_travel_along(planted: Path) -> None:
    run_cli("lda-gibbs", planted, *CHAIN, "-q", "-o", "run")
    assert read("run/documents.parquet").column_names[5:] == ["label", "date", "n"]


def test_rows_that_cannot_be_used_are_listed(tmp_path: Path) -> None:
    rows = rows_of()
    rows[3]["text"] = None
    done = run_cli("lda-gibbs", write_jsonl(tmp_path / "x.jsonl", rows), *CHAIN, "-o", "run")
    assert read("run/dropped.parquet")["id"].to_pylist() == ["p003"]
    assert done.err.count("could not be used") == 1
    assert "warning: 1 row could not be used, such as p003" in done.err
    assert "run/dropped.parquet" in done.err
    assert len(topics_of(Path("run"))) == 119


# ---------------------------------------------------------------- the same bytes


def test_processes_change_nothing(docs: Path) -> None:
    chain = ["--k", "4", "--sweeps", "6", "--scheme", "ad-lda", "--shards", "3", "--optimize-interval", "2"]
    for name, where in (("threads", ["--threads", "2"]), ("processes", ["--workers", "2"])):
        run_cli("lda-gibbs", docs, *chain, *where, "--save-assignments", "-q", "-o", name)
    assert contents("threads") == contents("processes")
    assert manifest("threads")["parameters"]["scheme"] == "ad-lda"
    run_cli("lda-gibbs", docs, *chain, "--scheme", "grid", "--save-assignments", "-q", "-o", "grid")
    assert contents("grid") != contents("threads")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "2"], "--workers needs --scheme ad-lda"),
        (["--scheme", "ad-lda", "--ray", "local"], "--ray needs --workers"),
        (["--scheme", "adlda"], "did you mean 'ad-lda'?"),
        (["--scheme", "ad-lda", "--workers", "2", "--prototype", "2"], "--workers and --prototype do not go together"),
    ],
)
def test_workers_that_do_not_go_with_other_options(options: list[str], message: str, docs: Path) -> None:
    done = run_cli("lda-gibbs", docs, "--k", "4", *options, "-o", "run", code=2)
    assert message in done.err


def test_another_seed_another_chain(docs: Path, lda: Path) -> None:
    run_cli("lda-gibbs", docs, *CHAIN, "--random-state", "7", "-q", "-o", "seven")
    run_cli("lda-gibbs", docs, *CHAIN, "--save-assignments", "-q", "-o", "again")
    assert contents("again") == contents(lda)
    assert not read("seven/doc_topics.parquet").equals(read("again/doc_topics.parquet"))


# ---------------------------------------------------------------- options of the chain


def test_priors(docs: Path) -> None:
    for i, words in enumerate((["--alpha", "0.5", "--eta", "0.1"], ["--alpha-sum", "2", "--beta", "0.1"])):
        chain = ["--num-topics", "4", "--iterations", "60"]
        done = run_cli("lda-gibbs", docs, *chain, *words, "-o", f"run{i}")
        assert "alpha 0.5 and eta 0.1 each, 60 sweeps" in done.err
        assert "alpha sums to 2, eta 0.1 each" in done.err
        assert read(f"run{i}/model/alpha.parquet")["alpha"].to_pylist() == [0.5] * K
        assert (results(f"run{i}")["alpha_sum"], results(f"run{i}")["eta"]) == (2, 0.1)
        parameters = manifest(f"run{i}")["parameters"]
        assert [parameters[n] for n in ("alpha", "eta", "alpha_in_force", "eta_in_force")] == [0.5, 0.1, 0.5, 0.1]
        assert parameters["optimize_interval"] == 0
    assert contents("run0") == contents("run1")


def test_priors_are_estimated(docs: Path) -> None:
    done = run_cli("lda-gibbs", docs, *CHAIN, "--optimize-eta", "--optimize-burn-in", "12", "-o", "run")
    assert "(alpha and eta re-estimated every 10 sweeps), 60 sweeps" in done.err
    assert manifest("run")["parameters"]["optimize_interval"] == 10
    paragraph, cited = methods(manifest("run"), K)
    assert (
        "with 60 sweeps, an alpha for each topic and eta re-estimated every 10 sweeps (Wallach et al., 2009) ("
        in paragraph
    )
    assert PRIORS in cited
    alpha = read("run/model/alpha.parquet")["alpha"].to_pylist()
    assert alpha[0] == alpha[1] > alpha[2] == alpha[3]  # 30, 30, 28 and 28 documents
    assert sum(alpha) < 0.5  # a document has one topic
    assert f"alpha sums to {sum(alpha):.4g}, eta {results('run')['eta']:.4g} each" in done.err
    assert results("run")["eta"] != 0.25
    assert read("run/topics.parquet")["alpha"].to_pylist() == alpha
    assert manifest("run")["parameters"]["alpha"] == 0.25
    assert manifest("run")["parameters"]["alpha_in_force"] == pytest.approx(sum(alpha) / K, abs=1e-7)
    words = ["--optimize-interval", "10", "--symmetric-alpha", "--optimize-burn-in", "40"]
    run_cli("lda-gibbs", docs, *CHAIN, *words, "-q", "-o", "same")
    found = read("same/model/alpha.parquet")["alpha"].to_pylist()
    assert len(set(found)) == 1
    assert found[0] < 0.25
    assert [p["alpha_sum"] for p in results("same")["trace"]][:3] == [1, 1, 1]
    assert results("same")["trace"][-1]["alpha_sum"] == pytest.approx(sum(found), abs=1e-6)


def test_the_mean_of_states(docs: Path, lda: Path) -> None:
    done = run_cli("lda-gibbs", docs, *CHAIN, "--estimate", "mean", "--burn-in", "20", "--thin", "8", "-o", "run")
    assert "(counts: mean of 5 states)" in done.err
    assert results("run")["samples"] == 5
    table = read("run/model/topic_term.parquet")
    assert table["count"].type == pa.float64()
    assert counts("run").sum(axis=0) == pytest.approx(counts(lda).sum(axis=0))
    fifths = table["count"].to_numpy() * 5
    assert fifths == pytest.approx(np.rint(fifths))
    assert (np.rint(fifths) % 5 > 0).any()


def test_the_best_state(docs: Path) -> None:
    run_cli("lda-gibbs", docs, *CHAIN, "--estimate", "best", "-q", "-o", "run")
    trace = {point["sweep"]: point["log_likelihood"] for point in results("run")["trace"]}
    assert list(trace) == [10, 20, 30, 40, 50, 60]
    assert results("run")["log_likelihood_per_token"] == max(trace[s] for s in (40, 50, 60))
    assert read("run/model/topic_term.parquet")["count"].type == pa.int32()


def test_the_early_stop(docs: Path) -> None:
    done = run_cli("lda-gibbs", docs, "--k", "4", "--sweeps", "5000", "--early-stop", "0.001", "-o", "run")
    found = results("run")
    assert found["stopped_early"]
    assert found["sweeps"] < 1000
    assert f"the chain had settled after {found['sweeps']} sweeps (--early-stop)" in done.err
    assert not (Path("run.checkpoint.npz")).exists()


def test_one_topic_is_the_corpus(docs: Path) -> None:
    run_cli("lda-gibbs", docs, "--k", "1", "--sweeps", "3", "--save-assignments", "-q", "-o", "run")
    run_cli("convert", "run", "-q", "-o", "v.json")
    assert counts("run")[0].tolist() == read("run/vocab.parquet")["cf"].to_pylist()
    documents = read("run/documents.parquet")
    assert Counter(zip(*(documents[n].to_pylist() for n in ("topic", "topic_prob", "margin")), strict=True)) == {
        (0, 1, 0): 116,
        (-1, 0, 0): 4,
    }
    assert json.loads(Path("v.json").read_text())["mdsDat"]["Freq"] == [100]


def test_stored_terms(docs: Path, lda: Path) -> None:
    run_cli("lda-gibbs", docs, *CHAIN, "--top-terms", "4", "--relevance-lambda", "1", "-q", "-o", "run")
    table, whole = read("run/topic_terms.parquet"), read(lda / "topic_terms.parquet")
    few = whole.filter(pc.less_equal(whole["rank"], 4))
    assert table.drop_columns("relevance").equals(few.drop_columns("relevance"))
    assert table["relevance"].to_pylist() == pytest.approx(np.log(table["weight"].to_numpy()), rel=1e-5)


def test_weights_of_tokens(docs: Path) -> None:
    run_cli("lda-gibbs", docs, *CHAIN, "--term-weights", "idf", "-q", "-o", "run")
    vocab = read("run/vocab.parquet")
    weight = np.maximum(np.rint(256 * np.log(120 / vocab["df"].to_numpy())), 1) / 256
    assert counts("run").sum(axis=0) == pytest.approx(vocab["cf"].to_numpy() * weight)
    for words in read("run/topics.parquet")["top_terms"].to_pylist():
        assert any(set(words) - {"number"} <= set(w.split()) for w in WORDS.values())


# ---------------------------------------------------------------- exports


def test_assignments_are_the_counts(lda: Path, docs: Path) -> None:
    table = read(lda / "assignments.parquet")
    found = list(zip(*(table[n].to_pylist() for n in ("id", "term", "topic")), strict=True))
    tokens = read(docs)
    assert [(i, t) for i, t, _ in found] == [
        (i, t) for i, ts in zip(tokens["id"].to_pylist(), tokens["tokens"].to_pylist(), strict=True) for t in ts
    ]
    terms = read(lda / "vocab.parquet")["term"].to_pylist()
    n_kv = np.zeros((K, len(terms)))
    for (term, k), n in Counter((t, k) for _, t, k in found).items():
        n_kv[k, terms.index(term)] = n
    assert counts(lda).tolist() == n_kv.tolist()
    documents = Counter((i, k) for i, _, k in found)
    lengths = Counter(i for i, _, _ in found)
    alpha = read(lda / "model" / "alpha.parquet")["alpha"].to_pylist()
    for row in read(lda / "doc_topics.parquet").to_pylist():
        theta = (documents[row["id"], row["topic"]] + alpha[row["topic"]]) / (lengths[row["id"]] + sum(alpha))
        assert row["prob"] == pytest.approx(theta, rel=1e-6)


def test_a_state_of_mallet_becomes_the_same_run(lda: Path, docs: Path) -> None:
    done = run_cli("convert", docs.with_name("state.gz"), "--save-assignments", "-o", "run")
    # the two empty documents within the corpus are numbered by the state, but the first document is one of them
    alpha = f"alpha sums to {results(lda)['alpha_sum']:.4g}"
    assert f"state of 4 topics: 1,508 tokens in 120 documents; {alpha}, beta 0.25 each" in done.err
    for name in ("model/topic_term", "model/alpha", "vocab", "topic_terms"):
        assert read(f"run/{name}.parquet").equals(read(lda / f"{name}.parquet")), name
    for name in ("topics", "doc_topics"):
        mine, theirs = read(f"run/{name}.parquet"), read(lda / f"{name}.parquet")
        left_out = [n for n in mine.column_names if n.startswith("representative") or n == "id"]
        assert mine.drop_columns(left_out).equals(theirs.drop_columns(left_out)), name
    assert read("run/documents.parquet")["topic"].to_pylist() == read(lda / "documents.parquet")["topic"].to_pylist()
    assert results("run")["log_likelihood_per_token"] == results(lda)["log_likelihood_per_token"]
    assert manifest("run")["parameters"]["from_mallet"] == str(docs.with_name("state.gz"))
    assert results("run")["sweeps"] == 0


def test_ids_come_back_from_a_state(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "x.jsonl", rows_of())
    run_cli("lda-gibbs", "x.jsonl", *CHAIN, "--save-assignments", "-q", "-o", "one")
    run_cli("convert", "one", "-q", "-o", "s.gz")
    run_cli("convert", "s.gz", "--save-assignments", "-q", "-o", "two")
    run_cli("convert", "two", "-q", "-o", "s2.gz")
    assert Path("s.gz").read_bytes() == Path("s2.gz").read_bytes()
    assert topics_of(Path("one")) == topics_of(Path("two"))
    assert read("one/assignments.parquet").equals(read("two/assignments.parquet"))


def test_pyldavis_has_the_numbers_of_the_run(lda: Path, docs: Path) -> None:
    found = json.loads(docs.with_name("vis.json").read_text(encoding="utf-8"))
    assert (found["mdsDat"]["topics"], found["topic.order"]) == ([0, 1, 2, 3], [0, 1, 2, 3])
    terms = read(lda / "topic_terms.parquet").to_pylist()
    info = found["tinfo"]
    for k in range(K):
        logprob = {
            term: value
            for term, category, value in zip(info["Term"], info["Category"], info["logprob"], strict=True)
            if category == f"Topic{k}"
        }
        assert max(logprob, key=lambda t: logprob[t]) == next(
            row["term"] for row in terms if (row["topic"], row["rank"]) == (k, 1)
        )


# ---------------------------------------------------------------- guidance


def write_seeds(text: str) -> str:
    Path("seeds.toml").write_text(f"[topics]\n{text}\n", encoding="utf-8")
    return "seeds.toml"


def test_seed_words_name_and_pull_the_first_topics(docs: Path) -> None:
    words = [
        "--seed-words",
        write_seeds("cosmos = ['moon', 'orb*']\nlaw = { words = ['judge', 'jury', 'zebra'], weight = 2 }"),
    ]
    done = run_cli("lda-gibbs", docs, *CHAIN, *words, "-o", "run")
    assert "warning: seed words that do not occur in the corpus: zebra" in done.err
    topics = read("run/topics.parquet")
    assert topics["label"].to_pylist()[:2] == ["cosmos", "law"]
    assert set(topics["top_terms"][0].as_py()[:8]) <= set(WORDS["space"].split())
    assert set(topics["top_terms"][1].as_py()[:8]) <= set(WORDS["courts"].split())
    sizes = topics["size"].to_pylist()
    assert sizes[2] >= sizes[3]
    # counts hold the pseudo-counts: once for moon and orbit, twice for judge and jury
    vocab = read("run/vocab.parquet")
    terms, cf = vocab["term"].to_pylist(), vocab["cf"].to_numpy()
    more = dict(zip(terms, counts("run").sum(axis=0) - cf, strict=True))
    given = {t: n for t, n in more.items() if n}
    expected = {t: w * cf[terms.index(t)] for t, w in (("moon", 1), ("orbit", 1), ("judge", 2), ("jury", 2))}
    assert given == expected
    assert json.loads(Path("run/model/config.json").read_text())["labels"][:2] == ["cosmos", "law"]
    assert manifest("run")["parameters"]["seed_words"] == "seeds.toml"


def test_seed_words_that_do_not_fit(docs: Path) -> None:
    def says(text: str, code: int) -> str:
        return run_cli("lda-gibbs", docs, *CHAIN, "--seed-words", write_seeds(text), "-o", "run", code=code).error()

    assert "none of the seed words of topic 'b' is a term of the corpus (zebra, Moon)" in says(
        "a = ['moon']\nb = ['zebra', 'Moon']", 2
    )
    many = "\n".join(f"t{i} = ['moon']" for i in range(5))
    assert "topics are given, but" in says(many, 2)
    assert "is not TOML" in says("a = [", 3)
    assert "topic 'a' needs a list of words" in says("a = 3", 3)
    assert not Path("run").exists()


def test_fixed_topics_stay(docs: Path, lda: Path, tmp_path: Path) -> None:
    rows = [row for row in rows_of() if row["label"] in ("rivers", "courts")]
    rows += [{"id": f"q{i}", "text": "cat dog horse cow sheep goat hen duck"} for i in range(20)]
    write_jsonl(tmp_path / "new.jsonl", rows)
    run_cli("lda-gibbs", "new.jsonl", "--k", "5", "--sweeps", "40", "--fixed-topics", lda, "-q", "-o", "run")
    old = {term: counts(lda)[:, v] for v, term in enumerate(read(lda / "vocab.parquet")["term"].to_pylist())}
    terms = read("run/vocab.parquet")["term"].to_pylist()
    expected = np.stack([old.get(term, np.zeros(K)) for term in terms], axis=1)
    assert counts("run")[:K].tolist() == expected.tolist()
    assert read("run/topics.parquet")["label"].to_pylist()[:K] == read(lda / "topics.parquet")["label"].to_pylist()
    assert set(read("run/topics.parquet")["top_terms"][K].as_py()[:8]) == set(rows[-1]["text"].split())
    topics, before = topics_of(Path("run")), topics_of(lda)
    assert {topics[f"q{i}"] for i in range(20)} == {K}
    assert all(topics[row["id"]] == before[row["id"]] for row in rows[:60] if before[row["id"]] >= 0)


def test_fixed_topics_and_seed_words_together(docs: Path, lda: Path) -> None:
    words = ["--fixed-topics", lda, "--seed-words", write_seeds("cosmos = ['moon']")]
    run_cli("lda-gibbs", docs, "--k", "6", "--sweeps", "20", *words, "-q", "-o", "run")
    labels = read("run/topics.parquet")["label"].to_pylist()
    assert labels[:5] == [*read(lda / "topics.parquet")["label"].to_pylist(), "cosmos"]
    says = run_cli("lda-gibbs", docs, "--k", "4", *words, "-o", "other", code=2).error()
    assert "5 topics are given, but --k is 4; --k must be at least the number of given topics" in says


# ---------------------------------------------------------------- LDAPrototype


@pytest.fixture(scope="module")
def prototype(docs: Path) -> tuple[Path, Done]:
    run = docs.parent / "prototype"
    done = run_cli("lda-gibbs", docs, "--k", "5", "--sweeps", "20", "--prototype", "4", "-o", run)
    return run, done


def test_the_prototype_is_the_run_most_like_the_others(prototype: tuple[Path, Done]) -> None:
    run, done = prototype
    table = read(run / "prototype.parquet").to_pylist()
    assert [row["run"] for row in table] == [0, 1, 2, 3]
    assert len({row["seed"] for row in table}) == 4
    sclop = np.array([[np.nan if v is None else v for v in row["sclop"]] for row in table])
    np.testing.assert_allclose(sclop, sclop.T)
    assert np.isnan(np.diagonal(sclop)).all()
    means = np.nanmean(sclop, axis=1)
    np.testing.assert_allclose([row["mean_sclop"] for row in table], means)
    (chosen,) = [row for row in table if row["prototype"]]
    assert chosen["mean_sclop"] == means.max()
    found = results(run)
    assert found["prototype_run"] == chosen["run"]
    assert found["mean_sclop"] == pytest.approx(means.max(), abs=1e-6)
    assert found["mean_sclop_of_runs"] == pytest.approx(means.mean(), abs=1e-6)
    assert f"run {chosen['run']} is the prototype: mean S-CLOP {means.max():.3f}" in done.err
    assert done.out.startswith("How much do the chains agree?")
    parameters = manifest(run)["parameters"]
    assert (parameters["prototype"], parameters["similarity"], parameters["sweeps"]) == (4, "jaccard", 20)


def test_the_prototype_is_the_chain_of_its_seed(prototype: tuple[Path, Done], docs: Path) -> None:
    run, _ = prototype
    (seed,) = [row["seed"] for row in read(run / "prototype.parquet").to_pylist() if row["prototype"]]
    run_cli("lda-gibbs", docs, "--k", "5", "--sweeps", "20", "--seed", seed, "-q", "-o", "alone")
    for name in ("documents", "doc_topics", "topic_terms", "model/topic_term"):
        assert read(f"alone/{name}.parquet").equals(read(run / f"{name}.parquet")), name
    assert results("alone")["log_likelihood_per_token"] == results(run)["log_likelihood_per_token"]
    whole = next(row["log_likelihood"] for row in read(run / "prototype.parquet").to_pylist() if row["prototype"])
    assert whole / 1508 == pytest.approx(results(run)["log_likelihood_per_token"], abs=1e-6)


def test_matches_of_the_prototype(prototype: tuple[Path, Done]) -> None:
    run, _ = prototype
    similar = read(run / "topic_similarity.parquet")
    matrix = np.array(similar["similarity"].to_pylist())
    assert matrix.shape == (20, 20)
    np.testing.assert_array_equal(matrix, matrix.T)
    assert (np.diagonal(matrix) == 1).all()
    assert list(zip(similar["run"].to_pylist(), similar["topic"].to_pylist(), strict=True)) == [
        (r, k) for r in range(4) for k in range(5)
    ]
    own, order = results(run)["prototype_run"], results(run)["chain_topics"]
    assert sorted(order) == list(range(5))
    best: dict[int, list[float]] = defaultdict(list)
    for row in read(run / "matched_topics.parquet").to_pylist():
        assert row["run"] != own
        here = matrix[own * 5 + order[row["topic"]], row["run"] * 5 : row["run"] * 5 + 5]
        assert row["similarity"] == here[row["matched"]] == here.max()
        best[row["topic"]].append(row["similarity"])
    assert [len(best[k]) for k in range(5)] == [3] * 5
    agreement = read(run / "topics.parquet")["agreement"].to_pylist()
    assert agreement == pytest.approx([np.mean(best[k]) for k in range(5)], rel=1e-6)
    assert len(set(agreement)) > 1
    assert results(run)["agreement"] == pytest.approx(np.mean(agreement), abs=1e-5)


@pytest.mark.parametrize("measure", ["cosine", "jensen-shannon", "rbo"])
def test_other_similarities_of_topics(measure: str, docs: Path) -> None:
    words = ["--k", "3", "--sweeps", "5", "--prototype", "2", "--similarity", measure]
    run_cli("lda-gibbs", docs, *words, "-q", "-o", "run")
    assert 0 <= results("run")["mean_sclop"] <= 1
    assert manifest("run")["parameters"]["similarity"] == measure


def test_a_similarity_of_one_chain_is_refused(docs: Path) -> None:
    for command in ("lda-gibbs", "rolling-lda"):
        error = run_cli(command, docs, "--k", "3", "--similarity", "rbo", "-o", "run", code=2).error()
        assert "--similarity needs --prototype" in error


def test_prototypes_with_seed_words(docs: Path) -> None:
    words = ["--prototype", "2", "--seed-words", write_seeds("cosmos = ['moon']")]
    run_cli("lda-gibbs", docs, *CHAIN, *words, "-q", "-o", "run")
    assert read("run/topics.parquet")["label"][0].as_py() == "cosmos"


# ---------------------------------------------------------------- real text


def test_sizes_of_news_descend(tmp_path: Path) -> None:
    run_cli("lda-gibbs", NEWS, "--k", "12", "--sweeps", "150", "-q", "-o", "run")
    sizes = read("run/topics.parquet")["size"].to_pylist()
    assert sizes == sorted(sizes, reverse=True)


def test_news(tmp_path: Path) -> None:
    done = run_cli("lda-gibbs", NEWS, "--k", "12", "--sweeps", "150", "-o", "run")
    assert "language: en 100%" in done.err
    assert sum(read("run/topics.parquet")["size"].to_pylist()) == 416
    labels = read("run/documents.parquet")["label"].to_pylist()
    pairs = Counter(zip(topics_of(Path("run")).values(), labels, strict=True))
    purity = sum(max(n for (k, _), n in pairs.items() if k == topic) for topic in range(12)) / 416
    assert purity > 0.5  # nine labels


def test_words_of_the_whole_corpus_do_not_lead_topics(tmp_path: Path) -> None:
    """Before, "said" stood first in all ten topics of a corpus of news."""
    rows = [{**row, "text": "said said said " + row["text"]} for row in planted_rows()]
    write_jsonl(tmp_path / "x.jsonl", [{"id": r["id"], "text": r["text"]} for r in rows])
    options = ("--k", "4", "--sweeps", "60")
    done = run_cli("lda-gibbs", "x.jsonl", *options, "-o", "run")
    assert "further words" in done.out
    assert not any(name.startswith("said") for name in read("run/topics.parquet")["label"].to_pylist())
    terms = read("run/topic_terms.parquet").to_pylist()
    probable = [row["term"] for row in terms if row["rank"] == 1]
    shown = [row[0] for row in read("run/topics.parquet")["top_terms"].to_pylist()]
    assert probable.count("said") > shown.count("said")
    run_cli("lda-gibbs", "x.jsonl", *options, "--auto-stop", "0.9", "-q", "-o", "without")
    assert "said" not in read("without/vocab.parquet")["term"].to_pylist()


@pytest.mark.parametrize("n", [1, 200])
def test_one_text_is_warned_of(n: int, tmp_path: Path) -> None:
    """Before, 200 copies of a text had 4 topics of NPMI 1.000 without a word."""
    write_jsonl(tmp_path / "x.jsonl", [{"id": str(i), "text": "the river and the boats"} for i in range(n)])
    done = run_cli("lda-gibbs", "x.jsonl", "--k", "4", "--sweeps", "3", "-o", "run")
    assert f"warning: there is only one different text among {n} document" in done.err
    write_jsonl(tmp_path / "y.jsonl", [{"text": "the river and the boats"}, {"text": "the judge"}])
    assert "one different text" not in run_cli("lda-gibbs", "y.jsonl", "--k", "2", "--sweeps", "3", "-o", "two").err


def test_topics_do_not_mirror_a_column(tmp_path: Path) -> None:
    rows = [{**row, "source": "ab"[i // 4 % 2]} for i, row in enumerate(rows_of())]
    for row in rows:
        row["text"] += " herald tribune" * 5 if row["source"] == "b" else ""
    write_jsonl(tmp_path / "x.jsonl", rows)
    for run, options in {
        "plain": [],
        "run": ["--debias", "source"],
        "one": ["--debias", "source", "--threads", "1"],
    }.items():
        run_cli("lda-gibbs", "x.jsonl", *CHAIN, *options, "-q", "-o", run)
    assert contents("run") == contents("one")
    figures = results("run")["debias"]
    assert figures["tokens_left_out"] > 400
    assert figures["words_bits"] < 0.2 * figures["words_bits_before"]
    assert figures["topics_ami"] < 0.1
    assert results("plain")["tokens"] - results("run")["tokens"] == figures["tokens_left_out"]
