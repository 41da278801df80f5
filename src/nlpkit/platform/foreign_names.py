"""What other programs call the commands and parameters of nlpkit: one table for the command line and for Python.

gensim, MALLET, BERTopic, scikit-learn, quanteda, tidytext, stm, tomotopy, transformers, SetFit. Names are compared without case,
hyphens, dots and underscores: searchK, textstat_keyness and train-topics are found as people type them.
"""

from __future__ import annotations

from collections.abc import Collection

from nlpkit.platform.models import MODELS

# A foreign name, and the parameters of nlpkit that mean the same: the first that is there is taken.
_SAME = {
    "k": "num_topics n_topics nr_topics ntopics n_components n_clusters num_clusters topic_count",
    "seed": "random_state random_seed rng_seed",
    "threads": "num_threads n_threads nthreads cores n_cores",
    "alpha": "doc_topic_prior",
    "eta": "beta topic_word_prior topic_prior",
    "sweeps iterations epochs": "num_iterations n_iterations n_iter num_iter max_iter iterations iter passes max_em_its",
    "epochs iterations sweeps": "num_epochs n_epochs num_train_epochs epochs",
    "batch_size": "chunksize chunk_size per_device_train_batch_size train_batch_size",
    "min_topic_size": "min_cluster_size hdbscan_min_cluster_size",
    "encoder": "embedding_model sentence_model sbert_model",
    "base": "model_name_or_path pretrained_model_name_or_path",
    "ngrams": "ngram_range n_gram_range",
    "min_df": "no_below min_docfreq",
    "max_df": "no_above max_docfreq",
    "min_cf": "min_termfreq",
    "max_vocab": "max_features keep_n",
    "stop_words": "stopwords",
    "lower": "lowercase to_lower tolower",
    "top_terms": "num_top_words n_top_words top_n_words",
    "lr rate": "learning_rate",
    "holdout test_share": "test_size",
    "shots": "n_shots num_shots num_samples",
    "cv": "n_folds num_folds n_splits kfold k_folds",
    "dimensions": "vector_size embedding_dim",
    "min_count": "min_word_count",
    "window": "window_size",
    "text_col": "text_field text_column textfield text_key",
    "id_col": "id_field id_column docid_field",
    "label_col": "label_field label_column target_col class_col y_col",
    "date_col": "date_field date_column time_col timestamp_col",
    "output": "output_dir output_file out_dir outdir out",
    "force": "overwrite overwrite_output_dir",
}
# Foreign names that mean something else or take another value, and what to use. Parameters stand between backticks.
_INSTEAD = {
    "n_jobs": "`threads`, the number of threads; 0 takes all cores",
    "workers": "`threads`, the number of threads; 0 takes all cores",
    "seed_topic_list": "`seed_words`, a TOML file with the words of each topic",
    "input": "the name of the file without an option",
    "data": "the name of the file without an option",
    "diversity": "`min_df` and `stop_words` to change the words of topics",
    "calculate_probabilities": "doc_topics.parquet, which every fit writes",
    "umap_model": "`n_neighbors`, `n_components` and `min_dist`, with `like=bertopic` for BERTopic's pipeline",
    "hdbscan_model": "`cluster=hdbscan` with `min_topic_size` and `min_samples`",
    "vectorizer_model": "`ngrams`, `min_df` and `stop_words`",
    "representation_model": "nlpkit name RUN, after the fit",
    "zeroshot_topic_list": "nlpkit zero-shot, or `seed_words`",
    "groups": "nlpkit topics RUN --by COLUMN, or nlpkit keyness --by COLUMN",
    "timestamps": "nlpkit topics RUN --over COLUMN:month",
}

_KEYNESS = "nlpkit keyness INPUT --by COLUMN --target A --reference B"
_OVER = "nlpkit topics RUN --over date:month"
_PREDICT = "nlpkit predict RUN INPUT -o OUTPUT"
_EVALUATE = "nlpkit evaluate RUN"
_PREPROCESS = "nlpkit preprocess INPUT -o docs.parquet"
_REPORT = "nlpkit report RUN -o report.html"
_EDIT = "nlpkit edit RUN EDITS -o NEW/"
_SEARCH_K = "nlpkit compare INPUT --models lda --k 10,20,40"
# A command line of nlpkit, and what other programs call it; those of models are declared with them.
_COMMANDS = {
    "nlpkit tfidf INPUT --lsa 100 -o RUN/": "lsi lsa lsimodel truncatedsvd textmodel_lsa",
    "nlpkit rolling-lda INPUT --chunks month -o RUN/": "rollinglda",
    _PREDICT: "infer infer_topics inference transform apply",
    _PREPROCESS: "import import_dir import_file tokenize tokenise tokens tokenizer unnest_tokens textprocessor "
    "prepdocuments clean simple_preprocess lemmatize stem countvectorizer dfm cast_dtm doc2bow",
    "nlpkit sbert-embed INPUT -o embedded.parquet": "embed embeddings encode sbert sentence_transformers",
    "nlpkit embed-words INPUT -o VECTORS/": "word2vec fasttext glove doc2vec train_word2vec",
    "nlpkit tfidf INPUT -o weights.parquet": "bind_tf_idf tfidfvectorizer tfidfmodel tf_idf dfm_tfidf bm25",
    "nlpkit ctfidf INPUT --by COLUMN": "c_tf_idf classtfidf",
    _KEYNESS: "textstat_keyness key_terms keywords distinguish distinguishing_words fightin_words log_odds loglikelihood compare_groups",
    "nlpkit collocations INPUT": "textstat_collocations phrases bigrams",
    "nlpkit stats INPUT": "textstat_frequency textstat_lexdiv textstat_readability word_count frequency summary describe",
    "nlpkit stats INPUT --plot cloud.png": "word_cloud textplot_wordcloud",
    "nlpkit scale INPUT --method wordfish": "textmodel_wordfish austin scaling scaling_model ideal_point ideological_scaling wordshoal",
    "nlpkit scale INPUT --method wordscores --scores COLUMN": "textmodel_wordscores",
    "nlpkit scale INPUT --method lss --seeds SEEDS.toml": "textmodel_lss lsx latent_semantic_scaling",
    "nlpkit scale INPUT --method ca": "textmodel_ca correspondence correspondence_analysis prince",
    "nlpkit scale INPUT --method axis --seeds ANCHORS.toml": "concept_vector_projection semantic_axis semaxis",
    "nlpkit kwic PATTERN INPUT": "concordance keyword_in_context grep",
    "nlpkit similar INPUT --pairs 0.9": "textstat_simil duplicates dedupe deduplicate dedup",
    "nlpkit cluster INPUT --k 10 -o OUTPUT": "kmeans hdbscan hclust",
    _OVER: "topics_over_time over_time trends topic_trends dynamic_topics",
    "nlpkit topics RUN --by COLUMN": "topics_per_class per_class",
    "nlpkit topics RUN --documents TOPIC": "find_thoughts get_representative_docs representative_docs get_document_info",
    "nlpkit topics RUN --correlations": "topiccorr topic_correlations",
    "nlpkit info RUN": "get_topic_info get_topics get_topic show_topics print_topics label_topics show list",
    "nlpkit info RUN --tree": "hierarchical_topics hierarchy",
    _EDIT: "merge_topics reduce_topics update_topics reduce_outliers rename split set_topic_labels",
    "nlpkit name RUN --phrases -o NEW/": "generate_topic_labels label topic_names sagelabels",
    "nlpkit effects RUN": "estimate_effect",
    _SEARCH_K: "searchk select_model many_topics find_topics_number ldatuning how_many_topics",
    _EVALUATE: "evaluate_topics coherence coherencemodel perplexity c_v npmi score metrics diagnostics",
    _REPORT: "html dashboard visualise_report",
    "nlpkit plot RUN map -o map.png": "visualize visualise visualize_documents visualize_topics datamapplot draw umap",
    "nlpkit convert RUN -o lda.json": "ldavis pyldavis toldavis ldavis_prepare",
    "nlpkit sentiment INPUT --lexicon vader -o OUTPUT": "get_sentiments vader polarity textstat_polarity emotion",
    "nlpkit classify INPUT --label-col COLUMN -o RUN/": "train_classifier textmodel_nb textmodel_svm naive_bayes logistic_regression "
    "svm textcat cross_validate cross_val_score",
    "nlpkit finetune INPUT --label-col COLUMN -o RUN/": "setfit few_shot fine_tune lora transformer trainer",
    "nlpkit zero-shot INPUT --labels A,B -o OUTPUT": "zeroshot zero_shot_classification nli",
    "nlpkit annotate agree TABLE --annotators A,B": "krippendorff kappa icr intercoder agreement",
    "nlpkit annotate task RUN -o task.html": "word_intrusion intrusion human_evaluation",
    "nlpkit active INPUT -o batch.parquet": "active_learning prodigy label_studio annotate_next",
    "nlpkit features INPUT -o features.parquet": "text_features liwc extract_features",
    "nlpkit train-tokenizer INPUT -o TOKENIZER/": "bpe sentencepiece wordpiece",
    "nlpkit --version": "v ver",
}


def _plain(name: str) -> str:
    """Return a name without case, hyphens, dots and underscores."""
    return "".join(c for c in name.casefold() if c.isalnum())


_NATIVES = {_plain(name): natives.split() for natives, names in _SAME.items() for name in names.split()}
_HINTS = {_plain(name): hint for name, hint in _INSTEAD.items()}


def native_parameter(name: str, known: Collection[str]) -> str | None:
    """Return the parameter among those known that means what other programs call `name`; None where there is none."""
    return next((native for native in _NATIVES.get(_plain(name), ()) if native in known), None)


def parameter_hint(name: str) -> str | None:
    """Return what to use in place of a parameter of other programs that has no equal here, None where nothing is known."""
    return _HINTS.get(_plain(name))


def command_lines() -> dict[str, str]:
    """Return the command lines of nlpkit, and what other programs call each."""
    return _COMMANDS | {line: names for model in MODELS.values() for line, names in model.foreign.items()}


def command_line(name: str) -> str | None:
    """Return the command line that does what other programs call `name`, None where nothing is known."""
    lines = {_plain(foreign): line for line, names in command_lines().items() for foreign in names.split()}
    return lines.get(_plain(name))
