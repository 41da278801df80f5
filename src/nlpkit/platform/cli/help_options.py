"""The main options of each command: those that `COMMAND --help` shows. `COMMAND --help-all` shows every option."""

from __future__ import annotations

from nlpkit.platform.models import MODELS

_WORDS = "stop-words min-df ngrams text-col"
_TERMS = f"{_WORDS} output show"
_VECTORS = "most-frequent lower output"
_MAIN = {
    "rolling-lda": f"k chunks init memory update alpha sweeps prototype date-col {_TERMS}",
    "compare": f"models k seeds metrics held-out resume workers preprocessing encoder {_TERMS}",
    "report": "compare title-col over by prevalence heading no-texts titles-only max-points output force",
    "topics": "over by count ci signals brief up words documents search similar correlations top output show",
    "name": "phrases llm llm-model names documents n-words budget output force",
    "edit": "merge split rename hide reduce-to init undo strict documents text-col output force show",
    "diff": "by threshold save-overlaps plot output force show",
    "effects": "of prevalence difference moderator cluster random link ci plot output show",
    "plot": "topics topic words over by prevalence width height style output force",
    "export": "to terms texts similarity output force",
    "stats": "by top ngrams readability dispersion plot stop-words language text-col keep-if output show",
    "kwic": "word glob ignore-case by in window width sort count limit-hits plot text-col output",
    "collocations": "node window any-order measure min-count top stop-words language text-col output show",
    "keyness": f"by target reference parts top-n label-col {_TERMS}",
    "ctfidf": f"by over top-n weighting target reference {_TERMS}",
    "scale": "method scores rescale low high positive negative seeds by over stop-words min-df text-col output show",
    "similar": "id text pairs by metric top encoder stop-words text-col id-col output",
    "similar-words": "in measure top n pad lower min-df output",
    "cluster": "method k by feature-cols metric min-cluster-size tree encoder stop-words text-col output show",
    "classify": "model on test cv split calibrate threshold learning-curve fail-under predict ngrams encoder text-col label-col output",
    "finetune": "method base shots test cv holdout seeds epochs batch-size lr protocol text-col label-col output",
    "zero-shot": "labels by model template multi-label llm llm-model probabilities encoder text-col label-col output",
    "sentiment": "lexicon negation classes neutral lex2sent language lemma text-col label-col output show",
    "active": "by model batch-size labelled labels page encoder text-col label-col output show",
    "active-curve": "by rounds batch-size seeds test-share model plot text-col label-col output show",
    "preprocess": "language stop-words min-df max-df ngrams lower lemma stem phrases dedupe unit tokenizer text-col output",
    "sbert-embed": "model max-tokens long prompt cache device engine precision offline text-col output",
    "tfidf": "scheme bm25 norm lsa pca select by top-n to stop-words min-df ngrams text-col output",
    "features": "include lexicon bins keep-cols language lemma stem text-col output force",
    "evaluate": "reference metrics ci window top-n prediction-col topic-col label-col fail-under baseline markdown output show",
    "predict": "probabilities explain assign-outliers novelty-quantile labels encoder text-col id-col output force",
    "info": "tree show limit keep-if text-col",
    "convert": "to source-format encoding top-terms output force show",
    "merge": "save-vocab output force dry-run json",
    "embed-words": "method dimensions min-count window epochs negative stop-words lower text-col save-word2vec output show",
    "train-encoder": "objective base test holdout pair-col epochs batch-size lr max-tokens text-col label-col output",
    "train-tokenizer": "type vocab-size lower text-col limit output",
    "ngram-lm": "order smoothing unit min-count closed held-out save-arpa lower text-col output show",
    "generate": "prompt decode texts max-words temperature top-k top-p beams seed output",
    "spell": "max-distance real-words min-length min-gain apply text-col output",
    "pretrain": "arch objective size tokenizer vocab-size holdout epochs max-steps batch-size lr max-tokens text-col output",
    "attention": "base max-tokens offline output show",
    "explain-transformer": "text target d-model d-k heads exact output",
    "words nearest": f"top {_VECTORS} show",
    "words analogy": f"questions measure top {_VECTORS} show",
    "words similarity": f"pairs {_VECTORS} show",
    "words odd-one-out": f"{_VECTORS} show json",
    "words bias": f"project line {_VECTORS} show",
    "words drift": f"top least-count {_VECTORS} show",
    "words plot": f"neighbours width height style {_VECTORS}",
    "annotate task": "kind items reference target-format text-col output force",
    "annotate judge": "llm llm-model judges expected attempts output show",
    "annotate labels": "answers encoding output force show",
    "annotate score": "answers measurement order ci fail-under markdown output show",
    "annotate agree": "annotators judgements join measurement order ci fail-under markdown output show",
    "annotate majority": "annotators method column soft order output force",
}


def main_options(command: str) -> frozenset[str]:
    """Return the main options of a command, as they are typed; `command` with its group, such as "words nearest"."""
    main = _MAIN.get(command)
    if main is None:
        main = f"{MODELS[command].main} {_TERMS}" if command in MODELS else ""
    return frozenset(f"--{name}" for name in main.split())
