"""The hierarchical Dirichlet process, which finds the number of topics with them."""

from __future__ import annotations

from nlpkit.platform.models import Account, Methods, TopicModel

REFERENCE = (
    "Teh, Y. W., Jordan, M. I., Beal, M. J., & Blei, D. M. (2006). Hierarchical Dirichlet processes. Journal of the American "
    "Statistical Association, 101(476), 1566–1581."
)


def methods(run: Account) -> Methods:
    """Return the paragraph for a paper, and what it cites."""
    get, results = run.parameters.get, run.results
    priors = ", ".join(
        f"{name} = {results[name]:.3g} ({'drawn' if get(name) is None else 'given'})" for name in ("alpha", "gamma")
    )
    least = f", {results['topics_left_out']} smaller ones left out" if results.get("topics_left_out") else ""
    return (
        f"We fitted a hierarchical Dirichlet process (Teh et al., 2006) to {run.n} documents by {get('iterations')} sweeps of "
        f"collapsed Gibbs sampling with eta = {get('eta')} and the concentrations {priors}; {run.K} topics had at least "
        f"{get('min_share'):.3g} of the tokens at the end{least} {run.seed}."
    ), (REFERENCE,)


MODEL = TopicModel(
    kind="hdp",
    posterior="nlpkit.topics.effects.posteriors:dirichlet",
    title="HDP",
    called="A hierarchical Dirichlet process",
    options="nlpkit.topics.hdp.options:HdpOptions",
    fitter="nlpkit.topics.hdp.model:HdpFitter",
    place=10,
    cites=(REFERENCE,),
    methods=methods,
    main="alpha gamma eta iterations initial-topics",
    counts_tokens=True,
    compared="",
    likelihood="log p(w | z) per token",
    finds_number="finds the number of topics with the topics; it starts from --initial-topics, and --eta and --gamma move it",
    foreign={"nlpkit hdp INPUT -o RUN/": "hdpmodel"},
    help="""Fit HDP: LDA that also finds the number of topics.

\b
Examples:
  nlpkit hdp data/samples/news.jsonl -o hdp/
  nlpkit hdp data/samples/news.jsonl --eta 0.3 --min-share 0.01 --iterations 100 -o few/
  nlpkit hdp data/samples/news.jsonl --alpha 1 --gamma 1 --iterations 100 -o fixed/

The method is Gibbs sampling of a hierarchical Dirichlet process (Teh et al. 2006). There is no --k: topics are added and
removed during sampling. The number depends on the corpus, on --eta and on the concentrations, which are sampled too unless
you set them. Topics with less than --min-share of the tokens are left out at the end, and nlpkit reports how many.

{writes} {predicts} {reuses} {threads}""",
    about="Fit a hierarchical Dirichlet process (Teh et al. 2006), which finds the number of topics with them.",
    example="""
>>> model = nk.fit_hdp(texts, iterations=20)
>>> model.topics.num_rows >= 1
True""",
)
