# The commands most people need. `...` are the options of the command: nlpkit("stm", help = TRUE, output = "text") lists them.
# Models are written to `output`, a directory, and come back as runs. A temporary one is gone with the session.

model_of <- function(command) {
  force(command)
  function(data, ..., output = tempfile("run"), quiet = FALSE) nlpkit(command, data, ..., output = output, quiet = quiet)
}

table_of <- function(command) {
  force(command)
  function(data, ..., output = "table", quiet = FALSE) nlpkit(command, data, ..., output = output, quiet = quiet)
}

nk_lda_gibbs <- model_of("lda-gibbs")  # latent Dirichlet allocation: nk_lda_gibbs(documents, k = 20)
nk_stm <- model_of("stm")              # structural topic models: nk_stm(documents, k = 20, prevalence = ~ party + s(year))
nk_bertopic <- model_of("bertopic")    # topics by sentence embeddings
nk_classify <- model_of("classify")    # classifiers of the column label: nk_classify(documents, model = "svm", cv = 5)

nk_preprocess <- table_of("preprocess")    # documents with tokens, a column of lists
nk_sbert_embed <- table_of("sbert-embed")  # documents with embeddings, a column of lists
nk_ctfidf <- table_of("ctfidf")            # words of classes: nk_ctfidf(documents, by = "party")
nk_topics <- table_of("topics")            # shares of topics: nk_topics(run, over = "date:month")
nk_effects <- table_of("effects")          # effects of covariates: nk_effects(run, of = "party")
nk_evaluate <- table_of("evaluate")        # scores: nk_evaluate(run, compat = "stm")

# New documents with their topics or classes.
nk_predict <- function(run, data, ..., output = "table", quiet = FALSE) {
  nlpkit("predict", list(run, data), ..., output = output, quiet = quiet)
}

# One HTML page of a run; returns its path.
nk_report <- function(run, output, ..., quiet = FALSE) nlpkit("report", run, ..., output = output, quiet = quiet)
