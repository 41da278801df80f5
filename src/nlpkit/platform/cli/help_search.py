"""The search behind `nlpkit help WORD...`: questions, commands, options and guides that a person's words lead to.

Parts, in this order:
- What people ask, and the command line that does it: words of the field that stand in no name of a command or option.
- `nlpkit help WORD...`: what answers a question, and where its words stand in commands, options and guides.
"""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from nlpkit.errors import UsageError
from nlpkit.platform import wording
from nlpkit.platform.cli.catalogue import COMMANDS
from nlpkit.platform.cli.help import panel
from nlpkit.platform.foreign_names import command_line


@dataclass(frozen=True, slots=True)
class Answer:
    """A command line, what it gives, and how people ask for it: phrases between semicolons. `few` is a number below 300."""

    line: str
    text: str
    asked: str


ANSWERS = (
    Answer(
        "nlpkit topics RUN --over date:month",
        "Shares of topics in each period, with intervals and trends.",
        "over time; by month; by year; per year; timeline; trend; temporal; evolution; rise fall; topics time; time series",
    ),
    Answer(
        "nlpkit topics RUN --by COLUMN",
        "Shares of topics in each group, and where groups differ.",
        "by group; per group; by party; by author; by source; topics differ; per class; compare groups topics",
    ),
    Answer(
        "nlpkit dtm INPUT --every year -o RUN/",
        "A topic model whose words change over time.",
        "words change over time; vocabulary change; drift; dynamic",
    ),
    Answer(
        "nlpkit bertopic INPUT --k 20 -o RUN/",
        "Exactly 20 topics; --k auto, the default, chooses the number.",
        "number of topics; how many topics; fewer topics; more topics; too many topics; set k; choose k; change k; n topics",
    ),
    Answer(
        "nlpkit compare INPUT --models lda --k 10,20,40",
        "Scores of models with several numbers of topics.",
        "number of topics; how many topics; choose k; best k; elbow; compare models; which model; best model; benchmark",
    ),
    Answer(
        "nlpkit edit RUN --reduce-to 20 -o NEW/",
        "After the fit: merge the most similar topics until 20 are left.",
        "fewer topics; reduce; too many topics; number of topics; change number topics; similar topics merge",
    ),
    Answer(
        'nlpkit edit RUN --merge 6,8 --rename "0=Prices" -o NEW/',
        "Merge, rename, split or drop topics of a run.",
        "merge topics; combine topics; rename; split topic; delete topic; remove topic; drop topic; join topics; change names",
    ),
    Answer(
        "nlpkit name RUN --phrases -o NEW/",
        "Better names of topics, from phrases, people or a language model.",
        "name topics; topic names; topic labels; label topics; llm; chatgpt; gpt; ollama; openai; name clusters",
    ),
    Answer(
        "nlpkit keyness INPUT --by COLUMN --target A --reference B",
        "Words that distinguish two groups, with effect sizes.",
        "distinguish; keyness; differ words; words differ; compare groups; compare two groups; typical words; characteristic words; "
        "log odds; log likelihood; keyword; key words; discriminate; fightin words; overrepresented; contrast; words apart; "
        "compare speeches; compare corpora",
    ),
    Answer(
        "nlpkit scale INPUT --method wordfish --by COLUMN",
        "Positions of texts on a scale, with intervals.",
        "scale; scaling; position; left right; ideology; ideological; ideal point; wordfish; wordscores; reference texts; seed words; "
        "polarity scale; dimension; axis; correspondence analysis; party positions",
    ),
    Answer(
        "nlpkit finetune INPUT --label-col COLUMN -o RUN/",
        "A classifier from few labels, from about 4 for each class on.",
        "few labels; few labelled; few examples; few shot; small training; little training data; setfit; fine tune; few texts classify",
    ),
    Answer(
        "nlpkit classify INPUT --label-col COLUMN -o RUN/",
        "A classifier from about 100 labels on, in seconds.",
        "classifier; classification; categorise; supervised; train classifier; few labels; many labels; many examples; "
        "text classification; predict label; "
        "naive bayes; svm; logistic regression; machine learning",
    ),
    Answer(
        "nlpkit zero-shot INPUT --labels politics,sport -o OUTPUT",
        "Labels for texts without any training.",
        "no labels; without labels; without training; unlabelled; zero labels; no training; few labels",
    ),
    Answer(
        "nlpkit active INPUT -o batch.parquet",
        "The texts that are worth labelling next.",
        "active learning; label next; which texts label; what label; annotate next; labelling effort",
    ),
    Answer(
        "nlpkit annotate agree TABLE --annotators anna,ben",
        "Agreement of coders: alpha, kappa, with intervals.",
        "krippendorff; kappa; agreement; intercoder; inter rater; reliability; coders agree; annotators",
    ),
    Answer(
        "nlpkit classify INPUT --class-weight balanced -o RUN/",
        "Rare classes count as much as frequent ones; see also --threshold and --costs.",
        "imbalanced; unbalanced; rare class; class weight; minority class; skewed",
    ),
    Answer(
        "nlpkit predict RUN INPUT --explain ID",
        "Which words of a text speak for its class.",
        "explain prediction; why class; explain classifier; interpret; lime; shap; important words class",
    ),
    Answer(
        "nlpkit classify INPUT --cv 5 -o RUN/",
        "Scores by cross-validation.",
        "cross validation; k fold; folds; cross validate",
    ),
    Answer(
        "nlpkit evaluate TABLE --prediction-col COLUMN",
        "Accuracy, precision, recall and F1 of predictions, with intervals.",
        "accuracy; precision; recall; f1; confusion; error rate; how good classifier; score predictions",
    ),
    Answer(
        "nlpkit evaluate RUN --metrics npmi,c_v,diversity",
        "Coherence and diversity of topics.",
        "coherence; npmi; c v; umass; how good topics; topic quality; diversity; evaluate topics; score topics; good topics",
    ),
    Answer(
        "nlpkit evaluate RUN --heldout TEXTS --perplexity",
        "Perplexity of texts that the model has not seen.",
        "perplexity; held out; log likelihood held out",
    ),
    Answer(
        "nlpkit bertopic INPUT --ensemble 10 -o RUN/",
        "Topics that come back in several fits; every fit prints the stability of its topics.",
        "stability; stable; chance; random; different results; reliable topics; trust topics; consensus",
    ),
    Answer(
        "nlpkit robust INPUT --k 10:90:10 -o RUN/",
        "Topics that come back over numbers of topics, seeds, models or segments.",
        "robust; robust topics; metatopics; several models; many models; across k; topics of segments; shared topics",
    ),
    Answer(
        "nlpkit annotate task RUN -o task.html",
        "A page on which people judge the topics.",
        "word intrusion; intrusion; human evaluation; people judge; human judgement; validate topics; validation",
    ),
    Answer(
        "nlpkit bertopic INPUT --assign-outliers -o RUN/",
        "Gives documents of topic -1 their nearest topic.",
        "outlier; topic -1; minus one; noise; unassigned; without topic; no topic; documents left out",
    ),
    Answer(
        "nlpkit preprocess INPUT --stop-words auto,words.txt -o docs.parquet",
        "Leaves out the stop words of the language and those of a file; all models take --stop-words.",
        "stop word; stopword; common words; remove words; filler words; frequent words; exclude words; custom stop words",
    ),
    Answer(
        "nlpkit preprocess INPUT --lemma dict -o docs.parquet",
        "Base forms of words; --stem cuts endings.",
        "lemma; lemmatise; lemmatize; lemmatization; stem; base form; inflection",
    ),
    Answer(
        "nlpkit preprocess INPUT --dedupe exact -o docs.parquet",
        "Leaves out texts that are there twice.",
        "duplicate; near duplicate; dedupe; deduplicate; same text; repeated texts; retweet; boilerplate; copies",
    ),
    Answer(
        "nlpkit bertopic INPUT --ngrams 1,2 -o RUN/",
        "Words and pairs of words as terms; every model has --ngrams.",
        "bigram; n gram; ngram; trigram; multiword; pairs of words; phrases topics",
    ),
    Answer(
        "nlpkit collocations INPUT",
        "Words that occur together more often than by chance.",
        "co-occurrence; cooccurrence; occur together; collocation; multiword; word pairs; association; pmi words",
    ),
    Answer(
        "nlpkit kwic PATTERN INPUT",
        "Every match of a word in its context.",
        "concordance; keyword in context; context of word; find word; quotes; grep; search word; word in context",
    ),
    Answer(
        "nlpkit plot RUN wordcloud --topic 3 -o cloud.png",
        "A word cloud of a topic; for a corpus: nlpkit stats INPUT --plot cloud.png.",
        "word cloud; wordcloud; tag cloud; cloud",
    ),
    Answer(
        "nlpkit report RUN -o report.html",
        "One HTML page with map, topics, documents and time.",
        "visualise; visualize; visualisation; visualization; map; interactive; picture topics; share results; html; "
        "dashboard; explore topics; see topics; web page; browse",
    ),
    Answer(
        "nlpkit plot RUN map -o map.pdf",
        "A picture for a paper: map, over-time, correlations and more.",
        "figure; chart; graph; picture; paper figure; plot; heat map; heatmap; draw; publication",
    ),
    Answer(
        "nlpkit convert RUN -o lda.json",
        "The model for pyLDAvis or MALLET; LDA runs need --save-assignments at the fit.",
        "pyldavis; ldavis; mallet state; other programs",
    ),
    Answer(
        "nlpkit export RUN -o topics.xlsx",
        "Topics for spreadsheets, Gephi, BERTopic, pyLDAvis or R.",
        "excel; gephi; spreadsheet; export; bertopic model; export r; dataframe; csv of topics",
    ),
    Answer(
        "nlpkit stm INPUT --prevalence 'party + s(date)' -o RUN/",
        "Topics that depend on columns of the documents; then: nlpkit effects RUN.",
        "covariate; metadata; regression; effect; prevalence; influence; depend on; structural; explain topics",
    ),
    Answer(
        "nlpkit gsdmm INPUT -o RUN/",
        "Topics of short texts; also biterm and bertopic.",
        "short text; tweet; twitter; headline; social media; titles; survey answers; open ended; comments",
    ),
    Answer(
        "nlpkit lda-gibbs INPUT --seed-words words.toml -o RUN/",
        "Topics around words that you give; bertopic has --seed-words, too.",
        "seed word; seeded; guided; anchor; steer; known topics; own topics; prior knowledge",
    ),
    Answer(
        "nlpkit bertopic INPUT --debias source -o RUN/",
        "Topics that do not mirror a source, author or party.",
        "debias; bias source; mirror source; newspaper style; confound; topics follow source; author style",
    ),
    Answer(
        "nlpkit info RUN --tree",
        "Coarser and finer layers of the topics of bertopic or hlda.",
        "hierarchy; hierarchical; subtopic; tree; layers; nested; coarse fine; broad topics",
    ),
    Answer(
        "nlpkit topics RUN --documents 3",
        "The documents that have most of a topic.",
        "representative document; example document; typical text; documents of topic; read documents; find thoughts; texts of topic",
    ),
    Answer(
        "nlpkit topics RUN --correlations",
        "Topics that occur in the same documents.",
        "topics correlate; topic correlation; correlated; network; related topics; topics together",
    ),
    Answer(
        "nlpkit topics RUN --search WORD",
        "The topics that a word is in.",
        "topic of word; which topic; search topic; find topic word; word topic",
    ),
    Answer(
        "nlpkit info RUN",
        "The topics of a run with their words and sizes.",
        "top words; topic words; show topics; list topics; size of topics; print topics",
    ),
    Answer(
        "nlpkit diff RUN OTHER",
        "Which topics of two runs match, split, merge or vanish.",
        "compare runs; two runs; what changed; difference runs; match topics; align topics; same topics",
    ),
    Answer(
        "nlpkit predict RUN NEW -o OUTPUT",
        "Topics or classes of new texts.",
        "new documents; new texts; apply model; infer; inference; unseen; transform; use model; score new",
    ),
    Answer(
        "nlpkit bertopic NEW --update RUN -o LONGER/",
        "Adds new documents to a run; its topics keep their numbers.",
        "add documents; update; incremental; grow; online; append; more documents",
    ),
    Answer(
        "nlpkit similar INPUT --pairs 0.9",
        "Pairs of documents that are alike; a query finds those near to a text.",
        "similar documents; similar texts; near duplicate; plagiarism; semantic search; nearest; search documents; text reuse",
    ),
    Answer(
        "nlpkit cluster INPUT --k 10 -o OUTPUT",
        "Clusters of documents, without topics.",
        "cluster; k means; hdbscan; group documents; clustering; dendrogram",
    ),
    Answer(
        "nlpkit stats INPUT",
        "Frequencies of words, lengths, lexical diversity; --readability scores readability.",
        "word frequency; frequency; count words; most frequent; zipf; lexical diversity; type token; readability; "
        "vocabulary size; describe corpus; descriptive; length of texts",
    ),
    Answer(
        "nlpkit sentiment INPUT --lexicon vader -o OUTPUT",
        "Sentiment of texts, without training.",
        "sentiment; polarity; positive negative; opinion; tone; valence; lexicon; emotion",
    ),
    Answer(
        "nlpkit features INPUT --lexicon EMOTIONS.tsv -o features.parquet",
        "Counts and shares of the words of a lexicon, as a table.",
        "emotion; dictionary; liwc; lexicon; feature table; count categories",
    ),
    Answer(
        "nlpkit sbert-embed INPUT -o embedded.parquet",
        "Sentence embeddings, which the other commands reuse.",
        "embedding; vector; sentence transformer; sbert; encode; vectors of texts",
    ),
    Answer(
        "nlpkit embed-words INPUT -o VECTORS/",
        "Word vectors: word2vec, fastText, GloVe; then: nlpkit words nearest VECTORS WORD.",
        "word vector; word2vec; word embedding; fasttext; glove; analogy; synonyms of word; meaning change",
    ),
    Answer(
        "nlpkit bertopic INPUT --encoder multilingual -o RUN/",
        "Topics of texts in several languages.",
        "multilingual; german; french; spanish; several languages; other language; not english; language; cross lingual",
    ),
    Answer(
        "nlpkit preprocess INPUT --pos NOUN,ADJ --spacy MODEL -o docs.parquet",
        "Keeps words of some parts of speech; --entities names people and places.",
        "part of speech; pos; noun; named entity; entities; ner; only nouns",
    ),
    Answer(
        "nlpkit bertopic INPUT --text-col body --date-col published -o RUN/",
        "Names the columns of a file; formats: csv, xlsx, jsonl, parquet, txt, pdf, docx and more.",
        "csv; column; columns; xlsx; pdf; docx; word file; my data; read file; own data; file format; title and text; text column",
    ),
    Answer(
        "nlpkit bertopic INPUT --dry-run",
        "How long it takes and how much memory it needs; --sample N takes fewer documents.",
        "how long; memory; slow; faster; speed; big corpus; large corpus; million; out of memory; estimate; large files",
    ),
    Answer(
        "nlpkit sbert-embed INPUT --device cuda -o embedded.parquet",
        "Embeds on the GPU, which is also the default where there is one.",
        "gpu; cuda; graphics card; device; accelerate",
    ),
    Answer(
        "nlpkit bertopic INPUT --seed 42 -o RUN/",
        "The same seed gives the same topics on any number of threads.",
        "reproducible; reproducibility; seed; same result; random state; replicate",
    ),
    Answer(
        "nlpkit evaluate RUN --fail-under npmi=0.05",
        "Exit code 1 when a score is too low.",
        "ci; quality gate; gate; continuous integration; exit code; fail job",
    ),
)


# ------------------------------------------------------------------------------------------------------------------------
# `nlpkit help WORD...`: what answers a question, and where its words stand in commands, options and guides.

FEW = 300  # labels; from so many on there are many
MOST = 5  # commands, options and guides that are shown of each
LEAST = 1 / 3  # of the best score of its kind, which an entry needs
LONGEST = 160  # letters of the line about an option
_EMPTY = (
    "a an and are as be by can do does for from get have how i in into is it make me my of on or our should some that the their them "
    "few many there this to use using want we what when where which who why with you your nlpkit"
)
_ENDINGS = re.compile(r"(?:isation|ization|ising|izing|ing|ise|ize|es|ed|s|e)$")


@dataclass(frozen=True, slots=True)
class Entry:
    """What is found: a kind (command, option, guide), how it is named, a line about it, and the weight of its words."""

    kind: str
    name: str
    text: str
    words: dict[str, int]
    score: float = 0.0


def search_page(question: str, root: Any, width: int) -> str:
    """Return what a terminal of so many columns shows for a question.

    Raises:
        UsageError: nothing has these words.
    """
    stems = stems_of(question)
    answered = answers(question)
    every = [*_commands(root), *_options(root), *_guides()]
    ranked = _ranked(every, [stem for stem in stems if stem not in _EMPTY.split()] or stems)
    if not answered and not ranked:
        raise UsageError(
            f"nothing in commands, options and guides has the words '{question}'; all commands: nlpkit help --all"
        )
    blocks = [_lines(answered, width)] if answered else []
    for kind, title in (("command", "Commands"), ("guide", "Guides, in the folder docs"), ("option", "Options")):
        best = [entry for entry in ranked if entry.kind == kind][:MOST]
        rows = [(entry.name, entry.text) for entry in best if entry.score >= LEAST * best[0].score]
        if rows:
            blocks.append(panel(title, rows, width, min(max(len(name) for name, _ in rows), width // 2)))
    return "\n\n".join([*blocks, "nlpkit COMMAND --help: examples and options"])


def answers(question: str) -> list[tuple[str, str]]:
    """Return the command lines that answer a question, with what they give: at most three, the closest first."""
    stems = set(stems_of(question))
    ranks = []
    for place, answer in enumerate(ANSWERS):
        phrases = (stems_of(phrase) for phrase in answer.asked.split(";"))
        matched = max((len(phrase) for phrase in phrases if stems.issuperset(phrase)), default=0)
        if matched:
            ranks.append((-matched, place))
    rows = [(ANSWERS[place].line, ANSWERS[place].text) for _, place in sorted(ranks)[:3]]
    line = command_line(question)
    if line is not None and all(line.split()[1] != row.split()[1] for row, _ in rows):
        rows.append((line, COMMANDS[line.split()[1]].summary))
    return rows[:3]


def stems_of(text: str) -> list[str]:
    """Return the words of a text without their endings; a number is that of `few` or of `many`."""
    return [_stem(word) for word in re.findall(r"\w+", text.casefold().replace("-1", "minus one"))]


def _stem(word: str) -> str:
    if word.isdecimal():
        word = "few" if int(word) < FEW else "many"
    short = re.sub("ies$", "y", word) if word.endswith("ies") else _ENDINGS.sub("", word)
    return short if len(short) > 2 else word


def _lines(answered: Sequence[tuple[str, str]], width: int) -> str:
    """Return command lines, each with what it gives below."""
    lines = ["Try this:"]
    for line, text in answered:
        lines += [f"  {line}", *(f"      {part}" for part in textwrap.wrap(text, width - 6))]
    return "\n".join(lines)


def _weighted(*parts: tuple[str, int]) -> dict[str, int]:
    """Return the words of texts, each with the greatest weight of a text that has it."""
    words: dict[str, int] = {}
    for text, weight in sorted(parts, key=lambda part: part[1]):
        words |= dict.fromkeys(stems_of(text), weight)
    return words


def _members(root: Any) -> Iterator[tuple[str, Any]]:
    """Yield every command with its name; those of a group one by one."""
    for name, command in root.commands.items():
        if not command.hidden and name != "help":
            members = getattr(command, "commands", {})
            yield from ((f"{name} {sub}", one) for sub, one in members.items())
            yield name, command


def _commands(root: Any) -> Iterator[Entry]:
    for name, command in _members(root):
        summary, _, details = (command.help or "").partition("\n\n")
        summary = " ".join(summary.split())
        details = re.sub(r"\x08.*", "", details, flags=re.DOTALL)
        yield Entry("command", name, summary, _weighted((name.replace("-", " "), 6), (summary, 4), (details, 1)))


def _options(root: Any) -> Iterator[Entry]:
    """Yield every option once, with the commands that have it in the same words."""
    owners: dict[tuple[str, str], list[str]] = {}
    for name, command in _members(root):
        for parameter in () if hasattr(command, "commands") else command.params:
            if parameter.param_type_name == "option" and not parameter.hidden:
                option = next(o for o in parameter.opts if o.startswith("--"))
                owners.setdefault((option, " ".join((parameter.help or "").split())), []).append(name)
    for (option, text), commands in owners.items():
        where = commands[0] if len(commands) == 1 else f"{wording.count(len(commands))} commands"
        name = f"{option} ({where})"
        sentence = textwrap.shorten(re.split(r"(?<=\.)\s", text)[0], LONGEST, placeholder=" …")
        yield Entry("option", name, sentence, _weighted((option, 5), (sentence, 2), (text, 1), (" ".join(commands), 1)))


def _guides() -> Iterator[Entry]:
    index = json.loads((files("nlpkit.platform.cli") / "guides.json").read_text(encoding="utf-8"))
    for page in index:
        heads = " ".join(page["headings"])
        yield Entry(
            "guide", page["page"], page["title"], _weighted((page["title"], 5), (heads, 3), (page["summary"], 2))
        )


def _ranked(entries: Iterable[Entry], stems: Sequence[str]) -> list[Entry]:
    """Return the entries that have all of the words, or else most of them, the best first; rare words count for more."""
    every = list(entries)
    df = Counter(stem for entry in every for stem in set(stems) & entry.words.keys())
    rarity = {stem: math.log(1 + len(every) / (1 + df[stem])) for stem in stems}
    held = {id(entry): [stem for stem in dict.fromkeys(stems) if stem in entry.words] for entry in every}
    most = max(map(len, held.values()), default=0)
    if not most or 2 * most < len(set(stems)):
        return []
    scored = [
        replace(entry, score=sum(entry.words[stem] * rarity[stem] for stem in held[id(entry)]))
        for entry in every
        if len(held[id(entry)]) == most
    ]
    return sorted(scored, key=lambda entry: -entry.score)
