"""Sentences of a report: what a run is, how its number of topics came about, and the paragraph for the methods of a paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from nlpkit import wording

REFERENCES = {
    "blei": (
        "Blei, D. M., Ng, A. Y., & Jordan, M. I. (2003). Latent Dirichlet allocation. Journal of Machine Learning "
        "Research, 3, 993–1022."
    ),
    "griffiths": (
        "Griffiths, T. L., & Steyvers, M. (2004). Finding scientific topics. Proceedings of the National Academy of "
        "Sciences, 101, 5228–5235."
    ),
    "plsa": "Hofmann, T. (1999). Probabilistic latent semantic analysis. UAI 1999, 289–296.",
    "nmf": "Lee, D. D., & Seung, H. S. (1999). Learning the parts of objects by non-negative matrix factorization. Nature, 401, 788–791.",
    "hdp": (
        "Teh, Y. W., Jordan, M. I., Beal, M. J., & Blei, D. M. (2006). Hierarchical Dirichlet processes. Journal of the American "
        "Statistical Association, 101(476), 1566–1581."
    ),
    "hlda": (
        "Blei, D. M., Griffiths, T. L., & Jordan, M. I. (2010). The nested Chinese restaurant process and Bayesian nonparametric "
        "inference of topic hierarchies. Journal of the ACM, 57(2), 1–30."
    ),
    "gsdmm": (
        "Yin, J., & Wang, J. (2014). A Dirichlet multinomial mixture model-based approach for short text clustering. KDD 2014, 233–242."
    ),
    "online": "Hoffman, M. D., Blei, D. M., & Bach, F. (2010). Online learning for latent Dirichlet allocation. NIPS 23, 856–864.",
    "dtm": "Blei, D. M., & Lafferty, J. D. (2006). Dynamic topic models. Proceedings of ICML 2006, 113–120.",
    "biterm": "Yan, X., Guo, J., Lan, Y., & Cheng, X. (2013). A biterm topic model for short texts. WWW 2013, 1445–1456.",
    "prodlda": "Srivastava, A., & Sutton, C. (2017). Autoencoding variational inference for topic models. ICLR 2017.",
    "combined": (
        "Bianchi, F., Terragni, S., & Hovy, D. (2021). Pre-training is a hot topic: Contextualized document embeddings improve topic "
        "coherence. Proceedings of ACL-IJCNLP 2021, 759–766."
    ),
    "zeroshot": (
        "Bianchi, F., Terragni, S., Hovy, D., Nozza, D., & Fersini, E. (2021). Cross-lingual contextualized topic models with zero-shot "
        "learning. Proceedings of EACL 2021, 1676–1683."
    ),
    "fastopic": (
        "Wu, X., Nguyen, T., Zhang, D. C., Wang, W. Y., & Luu, A. T. (2024). FASTopic: Pretrained transformer is a fast, adaptive, stable, "
        "and transferable topic model. NeurIPS 37."
    ),
    "etm": "Dieng, A. B., Ruiz, F. J. R., & Blei, D. M. (2020). Topic modeling in embedding spaces. TACL, 8, 439–453.",
    "rolling": (
        "Rieger, J., Jentsch, C., & Rahnenführer, J. (2021). RollingLDA: An update algorithm of latent Dirichlet "
        "allocation to construct consistent time series from textual data. Findings of EMNLP 2021, 2337–2347."
    ),
    "prototype": (
        "Rieger, J., Jentsch, C., & Rahnenführer, J. (2024). LDAPrototype: A model selection algorithm to improve "
        "reliability of latent Dirichlet allocation. PeerJ Computer Science, 10, e2279."
    ),
    "bertopic": "Grootendorst, M. (2022). BERTopic: Neural topic modeling with a class-based TF-IDF procedure. arXiv:2203.05794.",
    "sbert": (
        "Reimers, N., & Gurevych, I. (2019). Sentence-BERT: Sentence embeddings using Siamese BERT-networks. EMNLP-IJCNLP "
        "2019, 3982–3992."
    ),
    "hdbscan": (
        "Campello, R. J. G. B., Moulavi, D., & Sander, J. (2013). Density-based clustering based on hierarchical density "
        "estimates. PAKDD 2013, 160–172."
    ),
    "umap": (
        "McInnes, L., Healy, J., & Melville, J. (2018). UMAP: Uniform manifold approximation and projection for dimension "
        "reduction. arXiv:1802.03426."
    ),
    "stm": (
        "Roberts, M. E., Stewart, B. M., & Airoldi, E. M. (2016). A model of text for experimentation in the social sciences. Journal of "
        "the American Statistical Association, 111(515), 988–1003."
    ),
    "ctm": "Blei, D. M., & Lafferty, J. D. (2007). A correlated topic model of Science. Annals of Applied Statistics, 1(1), 17–35.",
    "anchors": (
        "Arora, S., Ge, R., Halpern, Y., Mimno, D., Moitra, A., Sontag, D., Wu, Y., & Zhu, M. (2013). A practical algorithm for topic "
        "modeling with provable guarantees. Proceedings of ICML 28(2), 280–288."
    ),
    "slda": "Blei, D. M., & McAuliffe, J. D. (2007). Supervised topic models. Advances in Neural Information Processing Systems, 20.",
    "author-topic": (
        "Rosen-Zvi, M., Griffiths, T., Steyvers, M., & Smyth, P. (2004). The author-topic model for authors and documents. UAI 2004, "
        "487–494."
    ),
    "labeled-lda": (
        "Ramage, D., Hall, D., Nallapati, R., & Manning, C. D. (2009). Labeled LDA: A supervised topic model for credit attribution in "
        "multi-labeled corpora. EMNLP 2009, 248–256."
    ),
    "npmi": "Bouma, G. (2009). Normalized (pointwise) mutual information in collocation extraction. Proceedings of GSCL, 31–40.",
}
NAMES = {
    "bertopic": "Embedding topics", "lda-online": "Online LDA", "plsa": "pLSA", "nmf": "NMF", "gsdmm": "GSDMM", "hdp": "HDP",
    "hlda": "Hierarchical LDA", "stm": "Structural topic model", "dtm": "Dynamic topic model", "slda": "Supervised LDA",
    "author-topic": "Author-topic model", "labeled-lda": "Labelled LDA",
    "biterm": "Biterm topic model", "ctm": "Contextualized topic model", "etm": "Embedded topic model", "fastopic": "FASTopic",
    "classify": "Classifier", "finetune": "Fine-tuned classifier",
}  # fmt: skip
ENGINES = {
    "kmeans": "k-means on embeddings averaged over nearest neighbours",
    "agglomerative": "agglomerative clustering of the embeddings",
    "gmm": "a mixture of Gaussians",
    "hdbscan": "HDBSCAN (Campello et al., 2013) in dimensions of UMAP (McInnes et al., 2018)",
}
CITED = {"hdbscan": ("hdbscan", "umap")}


def run_name(manifest: Mapping[str, Any]) -> str:
    """Return what a model is called: Topics of embeddings, LDA, Rolling LDA …"""
    parameters = manifest["parameters"]
    if manifest["kind"] == "lda-gibbs":
        prototype = "prototype " if parameters.get("prototype") else ""
        return f"Rolling {prototype}LDA" if "chunks" in parameters else f"{prototype.capitalize()}LDA"
    return str(NAMES.get(manifest["kind"], manifest["kind"]))


def training_paths(manifest: Mapping[str, Any]) -> list[str]:
    """Return the inputs that a run was trained on, not those of `test` and `dev`."""
    named = [manifest["parameters"].get(split) for split in ("test", "dev")]
    held_out = [source for source in named if isinstance(source, str)]
    paths = [str(entry["path"]) for entry in manifest["inputs"]]
    return [path for path in paths if not any(PurePath(path).is_relative_to(one) for one in held_out)] or paths


def corpus_name(manifest: Mapping[str, Any]) -> str:
    """Return the names of the files that a run was trained on, without their folders."""
    names = [path.replace("\\", "/").rsplit("/", 1)[-1] for path in training_paths(manifest)]
    return wording.listed(names, 3) or "documents"


def score_sentence(name: str, value: float, interval: Sequence[float] | None) -> str:
    """Return a score with its interval: NPMI 0.12 (95 % interval 0.08 to 0.16)."""
    low_high = f" (95 % interval {interval[0]:.3f} to {interval[1]:.3f})" if interval else ""
    return f"{name} {value:.3f}{low_high}"


def number_evidence(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the scores of each number of topics k that was tried, and which was `chosen`; nothing where the number was given."""
    rows = manifest["results"].get("evidence") or []
    scores = ("score", "halves", "views", "words", "npmi", "exclusivity", "stability", "diversity")
    return [
        {
            "k": row.get("k", row.get("n_topics")),
            **{name: row[name] for name in scores if name in row},
            "chosen": row["chosen"],
        }
        for row in rows
    ]


def number_sentence(manifest: Mapping[str, Any], K: int) -> str:
    """Return how the number of topics came about."""
    parameters = manifest["parameters"]
    k, evidence = str(parameters.get("k", parameters.get("n_topics"))), number_evidence(manifest)
    lineage = manifest.get("lineage")
    if lineage is not None:
        return f"The {K} topics are those of {lineage['parent']['path']} after {_later_step(lineage)}."
    if manifest["kind"] in ("hdp", "hlda"):
        return f"The number of topics, {K}, was found with the topics."
    if manifest["kind"] == "labeled-lda":
        latent = parameters.get("latent") or 0
        return f"The topics are the {wording.counted(K - latent, 'label')} of the documents" + (
            f" and {latent} that every document may use." if latent else "."
        )
    if not evidence:
        return f"The number of topics, {K}, was given."
    candidates = f"{len(evidence)} numbers from {evidence[0]['k']} to {evidence[-1]['k']}"
    if manifest["kind"] == "bertopic":
        return (
            f"The number of topics, {K}, was chosen among {candidates} (`--k {k}`). Three questions decided: do both halves of the "
            "documents give the same topics, do raw and smoothed embeddings, and can words alone predict the topic?"
        )
    return f"The number of topics, {K}, was chosen among {candidates} (`--k {k}`)."


def _later_step(lineage: Mapping[str, Any]) -> str:
    return "newer documents joined them" if "update" in lineage else "they were edited by hand"


def methods(
    manifest: Mapping[str, Any], K: int, *, n_terms: int | None = None, n_tokens: int | None = None
) -> tuple[str, list[str]]:
    """Return a paragraph for the methods of a paper, and the references that it cites.

    n_terms, n_tokens: the vocabulary of the run, and how many tokens of it the documents have; None where that is not known.
    """
    n = wording.count(manifest["results"].get("documents", sum(entry["rows"] for entry in manifest["inputs"])))
    seed = f"(nlpkit {manifest['nlpkit_version']}, random seed {manifest['seed']})"
    text, cited = _METHODS.get(manifest["kind"], _embedding_methods)(manifest, n, K, seed)
    text += words_sentence(manifest["parameters"].get("tokens"), n_terms, n_tokens)
    if manifest.get("lineage") is not None:
        text += f" These are the topics after {_later_step(manifest['lineage'])}."
    text += " Coherence is the normalised pointwise mutual information (NPMI; Bouma, 2009) of the top words within documents of the corpus."
    return text, [REFERENCES[key] for key in (*cited, "npmi")]


def words_sentence(tokens: Mapping[str, Any] | None, n_terms: int | None, n_tokens: int | None) -> str:
    """Return how texts became words: what was left out, and how many are left. tokens: as manifests have them, None if not known."""
    if not tokens:
        return ""
    removed = [text for text in (_duplicates(tokens), *_stop_words(tokens), *_bounds(tokens)) if text]
    forms = [
        f"lemmas ({tokens['lemma']})" if tokens.get("lemma") else "",
        f"stems ({tokens['stem']})" if tokens.get("stem") not in (None, "none") else "",
        "phrases" if tokens.get("phrases") or tokens.get("phrase_table") else "",
        f"n-grams of {' to '.join(map(str, tokens['ngrams']))} words" if tokens.get("ngrams", [1, 1])[-1] != 1 else "",
    ]
    forms = [form for form in forms if form]
    text = (
        f" Texts were split into words{', lower case' if tokens.get('lower') else ''}"
        + (f", with {_and(forms)}" if forms else "")
        + "."
    )
    if removed:
        text += f" We left out {_and(removed)}."
    if n_terms is not None and n_tokens is not None:
        text += f" {wording.counted(n_tokens, 'token')} of {wording.counted(n_terms, 'different term')} remained."
    return text


def _duplicates(tokens: Mapping[str, Any]) -> str:
    kind, _, least = str(tokens.get("dedupe") or "").partition(":")
    if kind == "near":
        return "near-duplicate documents" + (f" (similarity of {least} or more)" if least else "")
    return "duplicate documents" if kind and kind != "none" else ""


def _stop_words(tokens: Mapping[str, Any]) -> list[str]:
    languages, extra = tokens.get("stop_word_languages") or [], tokens.get("extra_stop_words") or ()
    n = len(extra) if not isinstance(extra, str) else extra.split(" ", 1)[0]  # a long list stands as its length
    parts = [f"stop words ({', '.join(languages)})"] if languages else []
    parts += [f"{n} words of a list of our own"] if extra else []
    parts += (
        [f"words in more than {100 * float(tokens['auto_stop']):g} % of the documents"]
        if tokens.get("auto_stop")
        else []
    )
    return parts


def _bounds(tokens: Mapping[str, Any]) -> list[str]:
    """Return which rare and frequent terms were left out: numbers of documents or tokens, or shares of them."""
    kinds = (
        ("min_df", "terms in fewer than {} documents", 1), ("max_df", "terms in more than {} documents", 1.0),
        ("min_cf", "terms that occur fewer than {} times", 1), ("max_cf", "terms that occur more than {} times", 1.0),
    )  # fmt: skip
    parts = []
    for name, form, usual in kinds:
        value = tokens.get(name)
        if isinstance(value, int | float) and value != usual:
            what = f"{100 * value:g} % of the" if isinstance(value, float) and value < 1 else wording.count(value)
            parts.append(form.format(what))
    if tokens.get("max_vocab"):
        parts.append(f"all but the {wording.count(tokens['max_vocab'])} most frequent terms")
    return parts


def _and(parts: Sequence[str]) -> str:
    """Return parts as a list in a sentence."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _lda_methods(manifest: Mapping[str, Any], n: str, K: int, seed: str) -> tuple[str, list[str]]:
    parameters = manifest["parameters"]
    alpha, eta = parameters.get("alpha_in_force"), parameters.get("eta_in_force")
    text = (
        f"We fitted latent Dirichlet allocation (Blei et al., 2003) with {K} topics to {n} documents by collapsed Gibbs sampling "
        f"(Griffiths & Steyvers, 2004) with {parameters.get('sweeps')} sweeps and symmetric priors alpha = {alpha} and eta = {eta} {seed}."
        if isinstance(alpha, int | float)
        else f"We fitted latent Dirichlet allocation (Blei et al., 2003) with {K} topics to {n} documents by collapsed Gibbs sampling "
        f"(Griffiths & Steyvers, 2004) with {parameters.get('sweeps')} sweeps {seed}."
    )
    cited = ["blei", "griffiths"]
    if "chunks" in parameters:
        text += (
            f" Documents were modelled in chunks of a {parameters['chunks']} with a memory of {parameters['memory']} (RollingLDA; "
            "Rieger et al., 2021)."
        )
        cited.append("rolling")
    if parameters.get("prototype"):
        text += (
            f" We took the most typical of {parameters['prototype']} fits from different seeds, the one most similar to all others "
            "(LDAPrototype; Rieger et al., 2024)."
        )
        cited.append("prototype")
    return text, cited


def _lda_online_methods(manifest: Mapping[str, Any], n: str, K: int, seed: str) -> tuple[str, list[str]]:
    parameters = manifest["parameters"]
    alpha, eta = parameters.get("alpha_in_force"), parameters.get("eta_in_force")
    begun = "random topics" if parameters.get("start") == "random" else "the topics of 50 sweeps of Gibbs sampling"
    batches = (
        "batch variational Bayes"
        if str(parameters.get("batch_size")) in ("all", "0")
        else f"stochastic variational Bayes (Hoffman et al., 2010) with batches of {parameters.get('batch_size')} documents"
    )
    return (
        f"We fitted latent Dirichlet allocation (Blei et al., 2003) with {K} topics to {n} documents by {batches} and symmetric priors "
        f"alpha = {alpha} and eta = {eta}, starting from {begun} {seed}."
    ), ["blei", *(["online"] if "Hoffman" in batches else [])]


def _dtm_methods(manifest: Mapping[str, Any], n: str, K: int, seed: str) -> tuple[str, list[str]]:
    parameters = manifest["parameters"]
    return (
        f"We fitted a dynamic topic model (Blei & Lafferty, 2006) with {K} topics to {n} documents, divided into periods of a "
        f"{parameters.get('every')}, with a chain variance of {parameters.get('chain_variance')} and alpha = "
        f"{parameters.get('alpha_in_force')}, by expectation maximisation with the most probable paths of the natural parameters {seed}."
    ), ["dtm"]


def _plsa_methods(manifest: Mapping[str, Any], n: str, K: int, seed: str) -> tuple[str, list[str]]:
    parameters = manifest["parameters"]
    tempered = "tempered " if parameters.get("tempered") else ""
    start = "a singular value decomposition" if parameters.get("start") == "svd" else "random topics"
    return (
        f"We fitted probabilistic latent semantic analysis (Hofmann, 1999) with {K} topics to {n} documents by {tempered}expectation "
        f"maximisation from {start} {seed}."
    ), ["plsa"]


def _nmf_methods(manifest: Mapping[str, Any], n: str, K: int, seed: str) -> tuple[str, list[str]]:
    parameters = manifest["parameters"]
    loss = "Frobenius norm" if parameters.get("loss") == "frobenius" else "Kullback–Leibler divergence"
    matrix = "tf-idf weights" if parameters.get("weights") == "tfidf" else "counts"
    return (
        f"We factorised the {matrix} of the terms of {n} documents into {K} topics by non-negative matrix factorisation (Lee & Seung, "
        f"1999) under the {loss} {seed}; rows divided by their sums are probabilities of terms and topics."
    ), ["nmf"]


def _gsdmm_methods(manifest: Mapping[str, Any], n: str, K: int, seed: str) -> tuple[str, list[str]]:
    parameters = manifest["parameters"]
    return (
        f"We fitted a Dirichlet multinomial mixture (Yin & Wang, 2014), in which each document has one topic, to {n} documents by "
        f"{parameters.get('iterations')} sweeps of collapsed Gibbs sampling with priors alpha = {parameters.get('alpha')} and beta = "
        f"{parameters.get('eta')}; {K} topics had documents at the end {seed}."
    ), ["gsdmm"]


def _hdp_methods(manifest: Mapping[str, Any], n: str, K: int, seed: str) -> tuple[str, list[str]]:
    parameters, results = manifest["parameters"], manifest["results"]
    priors = ", ".join(
        f"{name} = {results[name]:.3g} ({'drawn' if parameters.get(name) is None else 'given'})"
        for name in ("alpha", "gamma")
    )
    share = parameters.get("min_share")
    least = f", {results['topics_left_out']} smaller ones left out" if results.get("topics_left_out") else ""
    return (
        f"We fitted a hierarchical Dirichlet process (Teh et al., 2006) to {n} documents by {parameters.get('iterations')} sweeps of "
        f"collapsed Gibbs sampling with eta = {parameters.get('eta')} and the concentrations {priors}; {K} topics had at least "
        f"{share:.3g} of the tokens at the end{least} {seed}."
    ), ["hdp"]


def _hlda_methods(manifest: Mapping[str, Any], n: str, K: int, seed: str) -> tuple[str, list[str]]:
    parameters, levels = manifest["parameters"], manifest["results"].get("topics_by_level", [])
    return (
        f"We fitted hierarchical LDA (Blei et al., 2010), a tree of topics of depth {parameters.get('depth')}, to {n} documents by "
        f"{parameters.get('iterations')} sweeps of collapsed Gibbs sampling with alpha = {parameters.get('alpha')}, gamma = "
        f"{parameters.get('gamma')} and eta = {parameters.get('eta')}; the levels had {', '.join(map(str, levels))} topics {seed}."
    ), ["hlda"]


def _biterm_methods(manifest: Mapping[str, Any], n: str, K: int, seed: str) -> tuple[str, list[str]]:
    parameters, results = manifest["parameters"], manifest["results"]
    return (
        f"We fitted a biterm topic model (Yan et al., 2013) with {K} topics to the {results.get('biterms'):,} pairs of words that stand "
        f"within {parameters.get('window')} words of each other in {n} documents, by {parameters.get('iterations')} sweeps of collapsed "
        f"Gibbs sampling with priors alpha = {results.get('prior_alpha')} and beta = {parameters.get('eta')} {seed}."
    ), ["biterm"]


def _fastopic_methods(manifest: Mapping[str, Any], n: str, K: int, seed: str) -> tuple[str, list[str]]:
    parameters = manifest["parameters"]
    encoder = (parameters.get("encoder") or {}).get("encoder", "embeddings that were given")
    return (
        f"We fitted FASTopic (Wu et al., 2024) with {K} topics on {encoder} to {n} documents, by {parameters.get('iterations')} steps of "
        f"Adam with a learning rate of {parameters.get('rate')} over all documents {seed}; the transport plans had weights of "
        f"{parameters.get('dt_alpha')} (documents and topics) and {parameters.get('tw_alpha')} (topics and words)."
    ), ["fastopic"]


def _neural_methods(manifest: Mapping[str, Any], n: str, K: int, seed: str) -> tuple[str, list[str]]:
    parameters, results = manifest["parameters"], manifest["results"]
    trained = (
        f"by Adam with a learning rate of {parameters.get('rate')} for {results.get('best_epoch')} passes, after which the evidence lower "
        f"bound of a held-out tenth of the documents was highest {seed}."
    )
    if manifest["kind"] == "etm":
        vectors = {"pmi-svd": "PMI-SVD of the same documents", "random": "the model itself"}
        source = vectors.get(str(parameters.get("vectors")), str(parameters.get("vectors")))
        return (
            f"We fitted the embedded topic model (Dieng et al., 2020) with {K} topics and word vectors of {source} to {n} documents "
            f"{trained}"
        ), ["etm"]
    encoder = (parameters.get("encoder") or {}).get("encoder", "embeddings that were given")
    model, cited = {
        "zeroshot": (
            f"ZeroShotTM (Bianchi, Terragni, Hovy, Nozza, et al., 2021) on {encoder}",
            ["zeroshot", "prodlda"],
        ),
        "combined": (f"CombinedTM (Bianchi, Terragni, & Hovy, 2021) on words and {encoder}", ["combined", "prodlda"]),
        "bow": ("ProdLDA (Srivastava & Sutton, 2017)", ["prodlda"]),
    }[str(parameters.get("inference"))]
    return f"We fitted {model} with {K} topics to {n} documents {trained}", cited


def _stm_methods(manifest: Mapping[str, Any], n: str, K: int, seed: str) -> tuple[str, list[str]]:
    parameters = manifest["parameters"]
    formula, start = parameters.get("prevalence"), parameters.get("start")
    by_anchors = "LDA" not in str(manifest.get("results", {}).get("start", "")) and start in ("spectral", "anchors")
    model, cited = (
        ("a correlated topic model (Blei & Lafferty, 2007)", ["ctm", "stm"])
        if formula is None
        else (f"a structural topic model (Roberts et al., 2016) with the prevalence covariates {formula}", ["stm"])
    )
    begin = "anchor words (Arora et al., 2013)" if by_anchors else "random topics" if start == "random" else "LDA"
    return (
        f"We fitted {model} with {K} topics to {n} documents by variational expectation maximisation, with Laplace approximations of the "
        f"documents' posteriors as in the R package stm, from {begin} {seed}."
    ), [*cited, *(["anchors"] if by_anchors else [])]


_COLUMN_MODELS = {
    "slda": "supervised LDA (Blei & McAuliffe, 2007), whose topics answer to a label of the documents,",
    "author-topic": "the author-topic model (Rosen-Zvi et al., 2004), in which authors are mixtures of topics,",
    "labeled-lda": "labelled LDA (Ramage et al., 2009), whose topics are the labels of the documents,",
}


def _column_methods(manifest: Mapping[str, Any], n: str, K: int, seed: str) -> tuple[str, list[str]]:
    kind, parameters = manifest["kind"], manifest["parameters"]
    return (
        f"We fitted {_COLUMN_MODELS[kind]} with {K} topics to {n} documents by {parameters.get('iterations')} sweeps of collapsed Gibbs "
        f"sampling with symmetric priors alpha = {parameters.get('alpha_in_force')} and eta = {parameters.get('eta_in_force')} {seed}."
    ), [kind]


def _embedding_methods(manifest: Mapping[str, Any], n: str, K: int, seed: str) -> tuple[str, list[str]]:
    parameters = manifest["parameters"]
    encoder = (parameters.get("encoder") or {}).get("encoder")
    embedded = (
        f"We embedded {n} documents with {encoder} (Reimers & Gurevych, 2019)" if encoder else
        f"We used {n} documents with existing embeddings"
    )  # fmt: skip
    cluster = ENGINES.get(str(parameters.get("cluster")), str(parameters.get("cluster")))
    text = (
        f"{embedded} and grouped them into {K} topics by {cluster} {seed}. "
        "The words of a topic have the highest class-based tf-idf (Grootendorst, 2022) in its typical documents. Each word is weighted by "
        "the similarity of its documents to the topic."
    )
    cited = [*(["sbert"] if encoder else []), *CITED.get(str(parameters.get("cluster")), ()), "bertopic"]
    stability = manifest["results"].get("stability") or {}
    if stability.get("agreement") is not None:
        text += (
            f" Topics inferred from one half of the corpus agreed with these at an adjusted mutual information (AMI) of "
            f"{stability['agreement']:.2f}."
        )
    return text, cited


_METHODS: dict[str, Callable[[Mapping[str, Any], str, int, str], tuple[str, list[str]]]] = {
    "lda-gibbs": _lda_methods, "lda-online": _lda_online_methods, "dtm": _dtm_methods, "plsa": _plsa_methods, "nmf": _nmf_methods,
    "gsdmm": _gsdmm_methods, "biterm": _biterm_methods, "hdp": _hdp_methods, "hlda": _hlda_methods, "stm": _stm_methods,
    "ctm": _neural_methods, "etm": _neural_methods, "fastopic": _fastopic_methods, **dict.fromkeys(_COLUMN_MODELS, _column_methods),
}  # fmt: skip
