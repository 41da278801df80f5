"""Latent Dirichlet allocation by collapsed Gibbs sampling, and the models built on it."""

from __future__ import annotations

from nlpkit.platform.models import Account, Methods, TopicModel

LDA = (
    "Blei, D. M., Ng, A. Y., & Jordan, M. I. (2003). Latent Dirichlet allocation. Journal of Machine Learning "
    "Research, 3, 993–1022."
)
GRIFFITHS = (
    "Griffiths, T. L., & Steyvers, M. (2004). Finding scientific topics. Proceedings of the National Academy of "
    "Sciences, 101, 5228–5235."
)
PRIORS = (
    "Wallach, H. M., Mimno, D., & McCallum, A. (2009). Rethinking LDA: Why priors matter. Advances in Neural Information "
    "Processing Systems, 22, 1973–1981."
)
ROLLING = (
    "Rieger, J., Jentsch, C., & Rahnenführer, J. (2021). RollingLDA: An update algorithm of latent Dirichlet "
    "allocation to construct consistent time series from textual data. Findings of EMNLP 2021, 2337–2347."
)
PROTOTYPE = (
    "Rieger, J., Jentsch, C., & Rahnenführer, J. (2024). LDAPrototype: A model selection algorithm to improve "
    "reliability of latent Dirichlet allocation. PeerJ Computer Science, 10, e2279."
)


def methods(run: Account) -> Methods:
    """Return the paragraph for a paper, and what it cites."""
    settings, get, cited = run.parameters, run.parameters.get, [LDA, GRIFFITHS]
    alpha, eta = get("alpha_in_force"), get("eta_in_force")
    priors = f" and symmetric priors alpha = {alpha} and eta = {eta}" if isinstance(alpha, int | float) else ""
    every = get("optimize_interval")
    if every and priors:
        alphas = "one alpha for all topics" if get("symmetric_alpha") else "an alpha for each topic"
        eta_too = " and eta" if get("optimize_eta") else ""
        often = "every sweep" if every == 1 else f"every {every} sweeps"
        known = "" if eta_too else f" and a symmetric prior eta = {eta}"
        priors = f", {alphas}{eta_too} re-estimated {often} (Wallach et al., 2009){known}"
        cited.append(PRIORS)
    text = (
        f"We fitted latent Dirichlet allocation (Blei et al., 2003) with {run.K} topics to {run.n} documents by collapsed Gibbs sampling "
        f"(Griffiths & Steyvers, 2004) with {get('sweeps')} sweeps{priors} {run.seed}."
    )
    if "chunks" in settings:
        text += (
            f" Documents were modelled in chunks of a {settings['chunks']} with a memory of {settings['memory']} (RollingLDA; "
            "Rieger et al., 2021)."
        )
        cited.append(ROLLING)
    if get("prototype"):
        text += (
            f" We took the most typical of {settings['prototype']} fits from different seeds, the one most similar to all others "
            "(LDAPrototype; Rieger et al., 2024)."
        )
        cited.append(PROTOTYPE)
    return text, tuple(cited)


MODEL = TopicModel(
    kind="lda-gibbs",
    posterior="nlpkit.topics.effects.posteriors:dirichlet",
    title="LDA",
    options="nlpkit.topics.lda.options:LdaOptions",
    help="Fit LDA by collapsed Gibbs sampling.",
    main="k alpha eta sweeps early-stop prototype seed-words debias",
    front="LDA: several topics in each document",
    place=1,
    cites=(LDA, GRIFFITHS, PRIORS, ROLLING, PROTOTYPE),
    methods=methods,
    load="nlpkit.topics.rolling.model:load_lda",
    command="nlpkit.topics.lda.command:lda_gibbs_cli",
    compared="",
    short="lda",
    costs={
        "start": (2.7, 350), "million tokens": (0.7, 40), "million tokens · step": (0.045, 0), "million terms of topics": (0.5, 30),
    },
    foreign={
        "nlpkit lda-gibbs INPUT --k 20 -o RUN/": (
            "lda topics_lda train_topics ldamodel ldamulticore lda_mallet mallet latent_dirichlet_allocation textmodel_lda gibbs"
        )
    },
)  # fmt: skip
