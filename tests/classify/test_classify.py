"""Classifiers, sentiment and zero-shot labels from Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import nlpkit as nk
from nlpkit.classify.configs import candidates, config_of
from nlpkit.classify.options import ClassifierOptions, ClassifierReportOptions, SplitOptions
from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.options import GateOptions
from nlpkit.predict.options import PredictOptions
from nlpkit.text.lexicon.options import SentimentOptions
from nlpkit.text.options import PreprocessOptions
from nlpkit.weights.options import WeightOptions
from nlpkit.zero_shot.run import read_labels
from tests.encoder_models import write_model

TEXTS = [
    "the team won the match",
    "a goal in the last minute",
    "the probe reached orbit",
    "a telescope saw the planet",
] * 6
LABELS = ["sport", "sport", "space", "space"] * 6
LEXICON = "word\tweight\ngood\t2\nbad\t-2\n"


def corpus() -> nk.Corpus:
    return nk.Corpus.from_texts(TEXTS, labels=LABELS)


def test_cross_validation_of_texts_and_of_a_data_frame() -> None:
    first = nk.cross_validate(corpus(), model="nb", folds=3, near_duplicates=0)
    frame = pd.DataFrame({"text": TEXTS, "label": LABELS})
    second = nk.cross_validate(frame, model="nb", folds=3, near_duplicates=0)
    assert first.evaluation["accuracy"].value == second.evaluation["accuracy"].value == 1
    assert first.predictions.equals(second.predictions)
    assert set(first.predictions["fold"].to_pylist()) == {0, 1, 2}
    predicted = first.classifier.predict(["a planet", "a goal"], probabilities=True)
    assert predicted["prediction"].to_pylist() == ["space", "sport"]
    assert "<table>" in first.classifier._repr_html_()


def test_a_classifier_is_trained_saved_and_loaded(tmp_path: Path) -> None:
    test = pa.table({"text": ["the match", "an orbit"], "label": ["sport", "space"]})
    model = nk.train_classifier(corpus(), test=test, model="logreg", cost=10, min_df=1)
    assert model.evaluation is not None
    assert model.evaluation["macro_f1"].value == 1
    assert model.classes == ("space", "sport")
    loaded: Any = nk.load(model.save(tmp_path / "run"))
    new = ["the rocket saw the planet", ""]
    assert loaded.predict(new).equals(model.predict(new))
    assert loaded.tables().keys() == model.tables().keys()
    loaded.save(tmp_path / "copy")
    assert (tmp_path / "copy" / "manifest.json").read_bytes() == (tmp_path / "run" / "manifest.json").read_bytes()
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["targets"][0]["target"] == "predictions"


def test_telling_words_of_naive_bayes_are_not_the_most_frequent_ones() -> None:
    """Ranked by share times log-ratio, "the" led the class that has a little more of it."""
    labels = ["a", "b"] * 300
    texts = [
        "the " * (14 if label == "a" else 12) + "of " * 10 + f"{label}word{i % 30}" + (" once" if i == 0 else "")
        for i, label in enumerate(labels)
    ]
    model = nk.train_classifier(nk.Corpus.from_texts(texts, labels=labels), model="nb", min_df=1)
    for name in "ab":
        table = model.tables()["class_terms"].to_pylist()
        words = [row["term"] for row in table if row["class"] == name]
        assert len(words) == 15
        assert all(word.startswith(f"{name}word") for word in words)


def test_without_test_documents_there_are_no_scores(tmp_path: Path) -> None:
    model = nk.train_classifier(corpus(), model="nb")
    assert model.evaluation is None
    assert set(model.tables()) == {"class_terms"}  # the model has seen all documents
    assert set(nk.load(model.save(tmp_path / "run")).tables()) == {"class_terms"}
    with pytest.raises(InputError, match="trained without test documents"):
        nk.evaluate(tmp_path / "run")
    assert "space" in model._repr_html_()


def test_gates_and_explanations() -> None:
    result = nk.cross_validate(corpus(), model="nb", folds=2, gates=GateOptions(fail_under="accuracy=0.1"))
    assert [gate.passed for gate in result.evaluation.gates] == [True]
    data = nk.Corpus.from_texts(["a telescope and a goal"], ids=["x"])
    with result.classifier.predict_batches(data, options=PredictOptions(explain=("x",))) as predictions:
        list(predictions.batches())
    words = {w["term"] for w in predictions.maker.explanations["x"][0]["words"]}
    assert {"telescope", "goal"} <= words
    with (
        pytest.raises(InputError),
        result.classifier.predict_batches(data, options=PredictOptions(explain=("y",))) as other,
    ):
        list(other.batches())


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        (lambda: SplitOptions(test=Path("a"), cv=3), "cv"),
        (lambda: SplitOptions(groups="author", split="fold"), "groups"),
        (lambda: SplitOptions(label_sep=""), "label_sep"),
        (lambda: ClassifierOptions(model="run/"), "model"),
        (lambda: ClassifierOptions(alpha=0), "alpha"),
        (lambda: ClassifierOptions(hand_features="smell").hand_feature_names(), "hand_features"),
        (lambda: ClassifierOptions(priors="a,b").class_priors(), "priors"),
        (lambda: ClassifierReportOptions(near_duplicates=0.1), "near_duplicates"),
        (lambda: SentimentOptions(l2s_epochs="3"), "l2s_epochs"),
        (lambda: SentimentOptions(negation=False, negation_reach=2), "negation_reach"),
        (lambda: SentimentOptions().names, "lexicon"),
        (lambda: nk.train_classifier(corpus(), cv=3), "cv"),
        (lambda: nk.cross_validate(corpus(), split="fold"), "test"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(make: Any, parameter: str) -> None:
    with pytest.raises(UsageError) as refused:
        make()
    assert refused.value.parameter == parameter


def test_an_unknown_option_names_the_nearest() -> None:
    with pytest.raises(TypeError, match="neighbors"):
        nk.cross_validate(corpus(), neigbors=3)


def test_auto_compares_what_the_documents_allow() -> None:
    options = ClassifierOptions(model="auto")
    base = config_of(options, WeightOptions(), PreprocessOptions(), changed_words=False)
    names = [c.name for c in candidates(base, options, multiple=False, words_are_cut=True, embeddings=True)]
    assert names[0] == "nb"
    assert "svm, words and pairs" in names
    assert "centroid on embeddings" in names
    few = [c.name for c in candidates(base, options, multiple=True, words_are_cut=False, embeddings=False)]
    assert few == ["nb", "svm", "logreg", "logreg, C = 10"]


def test_sentiment_against_classes_and_numbers(tmp_path: Path) -> None:
    lexicon = tmp_path / "l.tsv"
    lexicon.write_text(LEXICON)
    texts = ["a good film", "not good", "bad, bad", "nothing"]
    data = nk.Corpus.from_texts(texts, labels=["pos", "neg", "neg", "pos"])
    result = nk.sentiment(data, lexicon=str(lexicon), language="en")
    assert result.documents["sentiment"].to_pylist() == [2, -2, -4, 0]
    assert result.documents["prediction"].to_pylist() == ["pos", "neg", "neg", "pos"]
    assert result.evaluation is not None
    assert result.evaluation["accuracy"].value == 1
    stars = nk.Corpus.from_texts(texts, labels=[5, 2, 1, 3])
    numbers = nk.sentiment(stars, lexicon=str(lexicon), language="en").evaluation
    assert numbers is not None
    assert numbers["spearman"].value == pytest.approx(1)
    assert nk.sentiment(texts, lexicon=str(lexicon), language="en").evaluation is None


def test_zero_shot_gives_the_nearest_label(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    encoder = str(write_model(tmp_path / "tiny"))
    result = nk.zero_shot(["cat", "dog"], labels={"a": "cat", "b": "dog"}, encoder=encoder)
    assert result.documents["prediction"].to_pylist() == ["a", "b"]
    assert result.summary["predictions"] == {"a": 1, "b": 1}


def test_labels_are_read_from_names_mappings_and_files(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("label,description\na,one\nb,two\na,three\n")
    assert read_labels(["a", "b c"]) == read_labels("a,b c") == {"a": [], "b c": []}
    assert read_labels({"a": "one", "b": ["two"]}) == {"a": ["one"], "b": ["two"]}
    assert read_labels(str(file)) == {"a": ["one", "three"], "b": ["two"]}
    file.write_text("label,parent,description\na,x,one\nb,x,\nc,,\nx,,above\n")
    assert read_labels(str(file)) == {"x > a": ["one"], "x > b": [], "c": [], "x": ["above"]}
    for few in (None, "a", {"a": "one"}):
        with pytest.raises(UsageError):
            read_labels(few)
