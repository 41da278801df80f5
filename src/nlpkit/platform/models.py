"""The topic models by name: what each declares of itself, from which its command, its function and its report follow.

A model by somebody else is an entry point of the group `nlpkit.models`: its kind, and the module and name of its `TopicModel`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias
from urllib.parse import urlsplit

GROUP = "nlpkit.models"
# kind → where its TopicModel is: the only list of the models that come with nlpkit
BUILT_IN = {
    "lda-gibbs": "nlpkit.topics.lda:MODEL",
    "lda-online": "nlpkit.topics.lda_online:MODEL",
    "plsa": "nlpkit.topics.matrix:PLSA",
    "nmf": "nlpkit.topics.matrix:NMF",
    "gsdmm": "nlpkit.topics.gsdmm:MODEL",
    "biterm": "nlpkit.topics.biterm:MODEL",
    "stm": "nlpkit.topics.stm:MODEL",
    "dtm": "nlpkit.topics.dtm:MODEL",
    "hdp": "nlpkit.topics.hdp:MODEL",
    "hlda": "nlpkit.topics.hlda:MODEL",
    "slda": "nlpkit.topics.supervised:SLDA",
    "author-topic": "nlpkit.topics.supervised:AUTHOR_TOPIC",
    "labeled-lda": "nlpkit.topics.supervised:LABELED_LDA",
    "ctm": "nlpkit.topics.neural:CTM",
    "etm": "nlpkit.topics.neural:ETM",
    "fastopic": "nlpkit.topics.neural:FASTOPIC",
    "bertopic": "nlpkit.topics.bertopic:MODEL",
    "robust": "nlpkit.topics.robust:MODEL",
}
MODEL_FUNCTIONS = "nlpkit.topics.base.run"
_APART = ("lda-gibbs", "bertopic", "robust")  # whose functions have other names
# sentences that the help of several models has, by the names that stand for them there
SENTENCES = {
    "writes": (
        "The command writes a run directory with topics.parquet, topic_terms.parquet, doc_topics.parquet and more. Without -o, it is "
        "<input>.{kind}/ in the current directory."
    ),
    "predicts": "`nlpkit predict RUN NEW` assigns topics to new documents.",
    "reuses": "An existing column 'tokens' is reused.",
    "threads": "The result does not depend on the number of threads.",
    "chooses": (
        "--k auto and --k lo:hi try several numbers of topics. nlpkit prints held-out perplexity, coherence, stability and other "
        "scores for each, and keeps the number with the highest mean score."
    ),
    "compares": (
        "--k auto and --k lo:hi try several numbers of topics. nlpkit prints held-out perplexity, coherence and other scores for "
        "each, and keeps the number with the highest mean score."
    ),
    "mixed": (
        "--k auto and --k lo:hi try several numbers of topics. nlpkit prints held-out perplexity (of the topics as a mixture), "
        "coherence and other scores for each, and keeps the number with the highest mean score."
    ),
}


@dataclass(frozen=True, slots=True)
class Account:
    """What the methods paragraph of a run is made of: parameters and results of its manifest, documents, K, version and seed in words."""

    parameters: Mapping[str, Any]
    results: Mapping[str, Any]
    n: str
    K: int
    seed: str

    @property
    def encoder(self) -> str:
        """What gave the embeddings of documents, as a paper names it; "" where they came without a name."""
        made_by = self.parameters.get("encoder") or {}
        url, _, model = str(made_by.get("encoder", "")).partition("#")
        return f"{model}, served by {urlsplit(url).netloc}," if self.is_served else str(made_by.get("encoder", ""))

    @property
    def is_served(self) -> bool:
        """Whether a server at an address gave the embeddings."""
        return bool((self.parameters.get("encoder") or {}).get("engine") == "server")


# the paragraph, and the references that it cites
Methods: TypeAlias = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicModel:
    """A kind of topic model. Classes and functions are texts, `module:name`, so that nothing of it is loaded for the help.

    kind: of its runs, and its command. title: the model in a report; called: in messages, by default its title.
    options: its record; fitter: what fits it, made of that; columns: its `ModelColumns`, where it reads more of documents than words.
    help: of the command, with SENTENCES by name; main: its options that --help shows; front: its line on the front page; place: among
    the commands. about, example: the first sentence of its function's docstring, and what it does with `texts`.
    cites: references for a paper; methods: the paragraph, with results and parameters by name, or what gives it and what it cites.
    fit, load, show, command: functions that fit, load and print such a model, and read its command line, in a way of their own.
    keeps: whether unfinished fits are kept. embeddings: whether it may encode texts.
    finds_number: why it has no --k, "" where it has; number: how the number of topics came about, where that is not k; chosen: how a
    number was chosen.
    compared: what to know of it in a comparison, None for a model that is not compared; short: its other name there.
    mixture: whether documents are mixtures of topics with a probability of every word. has_eta: whether topics have a prior of words.
    counts_tokens: whether each token has one topic. likelihood: of which it keeps a trace.
    posterior: what draws the topics of documents from their posterior (`topics/effects/posteriors.py`), "" where there is none.
    arrays: shapes of further parameters by name: K topics, V terms, D documents; another letter is one size in all of a run.
    costs: seconds and MB for units of work, beside those of texts; by default those of LDA.
    foreign: command lines, and what other programs call them.
    """

    kind: str
    title: str
    options: str
    help: str
    called: str = ""
    fitter: str = ""
    columns: str = "nlpkit.topics.base.mixture:ModelColumns"
    main: str = "k iterations"
    front: str = ""
    place: int = 100
    about: str = ""
    example: str = ""
    cites: tuple[str, ...] = ()
    methods: str | Callable[[Account], Methods] = "We fitted a model ({title}) with {K} topics to {n} documents {seed}."
    fit: str = ""
    load: str = "nlpkit.topics.base.run:load_topics"
    show: str = "nlpkit.topics.mixture_views:show_mixture"
    command: str = ""
    keeps: bool = True
    embeddings: bool = False
    finds_number: str = ""
    number: Callable[[Account], str] | None = None
    chosen: str = ""
    compared: str | None = None
    short: str = ""
    mixture: bool = True
    has_eta: bool = True
    counts_tokens: bool = False
    likelihood: str = "log p(w, z) per token"
    posterior: str = ""
    arrays: Mapping[str, str] = field(default_factory=dict)
    costs: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    foreign: Mapping[str, str] = field(default_factory=dict)

    @property
    def function(self) -> str:
        """The name of its public function."""
        return f"fit_{self.kind.replace('-', '_')}"

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return self.called or self.title

    @property
    def is_tree(self) -> bool:
        """Whether its topics are a tree."""
        return "tree" in self.arrays

    @property
    def summary(self) -> str:
        """The first line of its help."""
        return self.help.partition("\n")[0]

    @property
    def command_help(self) -> str:
        """The help of its command."""
        return self.help.format(**{name: text.format(kind=self.kind) for name, text in SENTENCES.items()})

    @property
    def docstring(self) -> str:
        """The docstring of its function."""
        usual = f">>> model = nk.{self.function}(texts, k=2)\n>>> model.topics.num_rows\n2"
        lines = [
            '>>> texts = ["river water fish bank", "money bank loan debt"] * 10',
            *(self.example.strip() or usual).split("\n"),
        ]
        return "\n    ".join([f"{self.about or self.summary}\n\nExample:", *lines])

    def paragraph(self, run: Account) -> Methods:
        """Return the paragraph for the methods of a paper, and the references that it cites."""
        if not isinstance(self.methods, str):
            return self.methods(run)
        facts = {**run.results, **run.parameters, "title": self.title, "K": run.K, "n": run.n, "seed": run.seed}
        return self.methods.format_map(defaultdict(lambda: None, facts)), self.cites


def resolved(name: str) -> Any:
    """Return what a text `module:name` names."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


@cache
def _further() -> dict[str, str]:
    """Return the models of other distributions, kind → where."""
    from importlib.metadata import entry_points

    return {point.name: point.value for point in entry_points(group=GROUP) if point.name not in BUILT_IN}


class _Models(Mapping[str, TopicModel]):
    """Kind → model; each is loaded when it is asked for. Other distributions are asked where a kind is none of nlpkit's."""

    def __getitem__(self, kind: str) -> TopicModel:
        """Return a model. Raises KeyError."""
        model: TopicModel = resolved(BUILT_IN[kind] if kind in BUILT_IN else _further()[kind])
        return model

    def __contains__(self, kind: object) -> bool:
        """Return whether there is such a model, without loading it."""
        return kind in BUILT_IN or kind in _further()

    def __iter__(self) -> Iterator[str]:
        """Yield the kinds, those of nlpkit first."""
        return iter((*BUILT_IN, *_further()))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(BUILT_IN) + len(_further())


MODELS: Mapping[str, TopicModel] = _Models()


def is_mixture(kind: str) -> bool:
    """Return whether runs of a kind have phi of all terms and theta."""
    return kind in MODELS and MODELS[kind].mixture


def topic_kinds() -> tuple[str, ...]:
    """Return the kinds of runs of topics, that of embeddings first."""
    return ("bertopic", *(kind for kind in MODELS if kind != "bertopic"))


def public_names() -> dict[str, str]:
    """Return the names of the functions of nlpkit's own mixture models, each with the module that has it, and of their option records, each
    with the model, which says where it is.
    """
    names = {}
    for kind, where in BUILT_IN.items():
        if kind not in _APART:
            names[f"fit_{kind.replace('-', '_')}"] = MODEL_FUNCTIONS
            names["".join(map(str.capitalize, kind.split("-"))) + "Options"] = where
    return names
