# Plain tests: Rscript tests/nlpkit.R, with the program in TEST_NLPKIT (words, one a line) if it is not on the PATH.

command <- Sys.getenv("TEST_NLPKIT")
if (nzchar(command)) options(nlpkit.command = strsplit(command, "\n", fixed = TRUE)[[1]])
if (requireNamespace("nlpkit", quietly = TRUE)) library(nlpkit) else for (f in list.files("../R", full.names = TRUE)) source(f)

fails <- function(expression) tryCatch({ expression; NULL }, error = function(e) e)

nature <- c("river water fish bank", "river boat water stream", "fish stream boat river")
money <- c("money bank loan debt", "debt money credit bank", "loan credit money interest")
docs <- data.frame(
  id = sprintf("%02d", 1:30), text = rep(c(nature, money), 5), party = factor(rep(c("green", "liberal"), each = 3, times = 5)),
  date = as.Date("2020-01-01") + 30 * (0:29), score = c(NA, 1:29 / 7), stringsAsFactors = FALSE
)

# a table there and back
back <- nk_preprocess(docs, min_df = 1, quiet = TRUE)
stopifnot(
  nrow(back) == 30, identical(back$id, docs$id), identical(back$text, docs$text), is.list(back$tokens),
  identical(back$tokens[[1]], c("river", "water", "fish", "bank")), identical(back$party, as.character(docs$party)),
  is.na(back$score[1]), isTRUE(all.equal(back$score[-1], docs$score[-1], tolerance = 1e-14)),
  !requireNamespace("tibble", quietly = TRUE) || inherits(back, "tbl_df")
)
odd <- data.frame(id = c("a", "b"), text = c("caf\u00e9 \u201cquoted\u201d 'single' $HOME; `x`", NA), stringsAsFactors = FALSE)
odd <- suppressWarnings(nlpkit("preprocess", odd, output = "table", quiet = TRUE, stop_words = "none", min_df = 1))
stopifnot(grepl("caf\u00e9 \u201cquoted\u201d 'single' $HOME; `x`", odd$text[1], fixed = TRUE))

# errors have the message and the exit code of nlpkit
e <- fails(nlpkit("stats", "nosuch.csv"))
stopifnot(inherits(e, "nlpkit_error"), e$exit_code == 3, grepl("nosuch.csv: no such file", conditionMessage(e), fixed = TRUE))
e <- fails(nk_ctfidf(docs, by = "nocolumn"))
stopifnot(inherits(e, "nlpkit_error"), grepl("nocolumn", conditionMessage(e)))
stopifnot(fails(nk_ctfidf(docs, bi = "party"))$exit_code == 2)
stopifnot(grepl("need a name", conditionMessage(fails(nlpkit("stats", docs, "x")))))
stopifnot(grepl("data frame", conditionMessage(fails(nlpkit("stats", 7)))))
old <- options(nlpkit.command = "no-such-program")
stopifnot(grepl("pip install nlpkit", conditionMessage(fails(nlpkit("stats", docs)))))
options(old)

# models, and what follows from them
run <- nk_stm(docs, k = 2, prevalence = ~ party, min_df = 1, quiet = TRUE)
stopifnot(inherits(run, "nlpkit_run"), setequal(nk_topics(run, quiet = TRUE)$topic, -1:1))
effects <- nk_effects(run, of = "party", quiet = TRUE)
stopifnot(all(c("topic", "value", "share") %in% names(effects)))
scores <- nk_evaluate(run, compat = "stm", quiet = TRUE)
stopifnot(setequal(scores$metric, c("semantic_coherence", "frex_exclusivity")))
table <- tempfile(fileext = ".csv")
nk_evaluate(run, compat = "stm", heldout = docs[1:9, ], search_k = table, quiet = TRUE)
stopifnot(identical(names(read.csv(table)), c("K", "exclus", "semcoh", "heldout", "residual", "bound", "lbound", "em.its")))
new <- nk_predict(run, data.frame(id = "n", text = "river water", party = "green"), quiet = TRUE)
stopifnot(nrow(new) == 1, new$topic %in% 0:1)
fit <- read_run(run)
stopifnot(
  nrow(fit$documents) == 30, all.equal(rowSums(fit$theta), rep(1, 30), check.attributes = FALSE), inherits(fit$model, "STM"),
  all(fit$documents$topic %in% 1:2), length(fit$top_words(3)) == 2
)
page <- nk_report(run, file.path(tempdir(), "page.html"), quiet = TRUE)
stopifnot(file.exists(page))
lda <- nk_lda_gibbs(docs, k = 2, sweeps = 20, min_df = 1, quiet = TRUE)
found <- nlpkit("evaluate", list(run, lda), metrics = c("diversity", "exclusivity"), output = "json", quiet = TRUE)
stopifnot(length(found$targets$target) == 2)
docs$label <- as.character(docs$party)
stopifnot(inherits(nk_classify(docs, model = "nb", cv = 2, min_df = 1, quiet = TRUE), "nlpkit_run"))
stopifnot(setequal(nk_ctfidf(docs, by = "label", min_df = 1, quiet = TRUE)$class, c("green", "liberal")))
printed <- capture.output(print(run))
stopifnot(grepl("nlpkit run in", printed[1]))
cat("all tests passed\n")
