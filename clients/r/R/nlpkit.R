# One function around the command line, and what it needs: documents as files, options as arguments, tables as data frames.

# Run a command of nlpkit.
#
#   nlpkit("stats", data.frame(text = c("a b", "b c")), ngrams = "none")
#   nlpkit("topics", run, over = "date:month")
#
# command  name of a command, with its subcommand: "topics", "annotate task".
# data     documents or runs: a data frame (one row a document; columns text, and id, date, label ...), paths of files, a run,
#          or a list of these, in the order of the command line.
# ...      options: k = 8 is --k 8, start_year = 1 is --start-year 1, json = TRUE is --json. FALSE and NULL leave an option out.
#          A vector is joined with commas; a list repeats the option. A data frame becomes a file.
# output   "table" (default): what `-o` writes, as a tibble. "json": what --json prints, as a list. "text": what is printed.
#          Any other text: the file or directory to write. A directory that is a run comes back as one.
# quiet    leave out nlpkit's notes, which are messages here. Its warnings are R's.
#
# The program is `nlpkit` on the PATH, or options(nlpkit.command = c("python", "-m", "nlpkit")).
nlpkit <- function(command, data = NULL, ..., output = "table", quiet = FALSE) {
  stopifnot(is.character(command), length(command) == 1, is.character(output), length(output) == 1)
  target <- switch(output, table = tempfile("nlpkit", fileext = ".jsonl"), json = , text = NULL, output)
  arguments <- c(
    strsplit(command, " ", fixed = TRUE)[[1]], inputs_of(data), options_of(list(...)),
    if (output == "json") "--json", if (!is.null(target)) c("-o", path.expand(target))
  )
  printed <- run_nlpkit(arguments, quiet, hidden = if (output == "table") target)
  if (output == "table") return(read_jsonl(target))
  if (output == "json") return(jsonlite::fromJSON(paste(printed, collapse = "\n"), simplifyMatrix = FALSE))
  if (output == "text") return(printed)
  if (file.exists(file.path(target, "manifest.json"))) as_run(target) else invisible(target)
}

# Write a data frame as documents (JSON Lines). Write them to a place that stays, if a run shall find its texts in another session.
write_documents <- function(data, path) {
  stopifnot(is.data.frame(data))
  text <- vapply(data, function(column) is.character(column) || is.factor(column), NA)
  data[text] <- lapply(data[text], function(column) enc2utf8(as.character(column)))
  connection <- file(path, "wb")
  on.exit(close(connection))
  jsonlite::stream_out(as.data.frame(data), connection, verbose = FALSE, na = "null", digits = NA, POSIXt = "ISO8601")
  invisible(path)
}

# Read a run for R: a list with topics, beta, gamma, documents, theta (see `nlpkit export --to r`); of a structural topic model also
# `model`, which the functions of the package stm take: stm::estimateEffect(1:8 ~ party, fit$model, fit$documents).
read_run <- function(run) {
  folder <- tempfile("nlpkit")
  nlpkit("export", run, to = "r", output = folder, quiet = TRUE)
  fit <- new.env(parent = globalenv())
  fit$folder <- folder
  sys.source(file.path(folder, "load.R"), fit)
  fit <- as.list(fit)
  tables <- vapply(fit, is.data.frame, NA)
  fit[tables] <- lapply(fit[tables], as_table)
  fit[setdiff(sort(names(fit)), c("folder", "read_table", "phi", "has_covariates"))]
}

program <- function() {
  named <- getOption("nlpkit.command", "nlpkit")
  if (!nzchar(Sys.which(named[1]))) {
    stop("the program '", named[1], "' is not on the PATH; install it with `pip install nlpkit`, or set ",
         "options(nlpkit.command = \"path/to/nlpkit\")", call. = FALSE)
  }
  named
}

run_nlpkit <- function(arguments, quiet, hidden = NULL) {
  words <- c(program(), enc2utf8(arguments))
  files <- tempfile(c("out", "err"))
  libraries <- Sys.getenv("LD_LIBRARY_PATH")
  on.exit(unlink(files))
  without_libraries_of_r()
  if (nzchar(libraries)) on.exit(Sys.setenv(LD_LIBRARY_PATH = libraries), add = TRUE)
  quoted <- shQuote(words[-1], if (.Platform$OS.type == "windows") "cmd" else "sh")
  code <- suppressWarnings(system2(words[1], quoted, stdout = files[1], stderr = files[2], stdin = ""))
  lines <- lapply(files, readLines, warn = FALSE, encoding = "UTF-8")
  said <- lines[[2]][nzchar(lines[[2]])]
  if (!is.null(hidden)) said <- said[!startsWith(said, paste("wrote", hidden))]
  if (code != 0) {
    at <- grep("^error: ", said)
    message <- if (length(at)) sub("^error: ", "", said[at[1]:length(said)]) else c(said, if (!length(said)) lines[[1]])
    stop(nlpkit_error(paste(message, collapse = "\n"), code, arguments))
  }
  warned <- grepl("^warning: ", said)
  for (line in said[warned]) warning(sub("^warning: ", "", line), call. = FALSE)
  if (!quiet) for (line in said[!warned]) message(line)
  lines[[1]]
}

# R puts folders of the system before those of a Python that is installed elsewhere, which then loads the wrong libpython.
without_libraries_of_r <- function() {
  folders <- strsplit(Sys.getenv("LD_LIBRARY_PATH"), ":", fixed = TRUE)[[1]]
  others <- folders[!grepl("^/usr/lib/|^/lib/|/lib/server$", folders) & folders != R.home("lib")]
  if (length(folders)) Sys.setenv(LD_LIBRARY_PATH = paste(others, collapse = ":"))
}

# Gates that do not hold (`fail_under`) and interrupts are errors, too: see the field exit_code.
nlpkit_error <- function(message, code, arguments) {
  structure(
    class = c("nlpkit_error", "error", "condition"),
    list(message = paste0(message, " (exit code ", code, ")"), call = NULL, exit_code = code, arguments = arguments)
  )
}

inputs_of <- function(data) {
  if (is.null(data)) return(character())
  if (is.data.frame(data)) return(write_documents(data, tempfile("documents", fileext = ".jsonl")))
  if (inherits(data, "nlpkit_run")) return(as.character(data))
  if (is.list(data)) return(unlist(lapply(data, inputs_of), use.names = FALSE))
  if (is.character(data)) return(path.expand(data))
  stop("documents are a data frame with a column text, or paths of files; got ", class(data)[1], call. = FALSE)
}

options_of <- function(values) {
  names <- names(values)
  if (length(values) && (is.null(names) || !all(nzchar(names)))) stop("options need a name, such as k = 8", call. = FALSE)
  unlist(Map(option_of, paste0("--", gsub("_", "-", names, fixed = TRUE)), values), use.names = FALSE)
}

option_of <- function(name, value) {
  if (is.null(value) || identical(value, FALSE)) return(character())
  if (identical(value, TRUE)) return(name)
  if (is.data.frame(value) || inherits(value, "nlpkit_run")) return(c(name, inputs_of(value)))
  if (inherits(value, "formula")) return(c(name, sub("^~ *", "", paste(deparse(value), collapse = " "))))
  if (is.list(value)) return(unlist(lapply(value, function(each) option_of(name, each))))
  if (anyNA(value)) stop("the option ", name, " is NA", call. = FALSE)
  written <- if (is.numeric(value)) format(value, digits = 15, scientific = FALSE, trim = TRUE) else as.character(value)
  c(name, paste(written, collapse = ","))
}

read_jsonl <- function(path) {
  connection <- file(path, "r")
  on.exit(close(connection))
  as_table(jsonlite::stream_in(connection, verbose = FALSE, simplifyMatrix = FALSE))
}

as_table <- function(data) if (requireNamespace("tibble", quietly = TRUE)) tibble::as_tibble(data) else data

as_run <- function(path) structure(list(path = normalizePath(path)), class = "nlpkit_run")
as.character.nlpkit_run <- function(x, ...) x$path
print.nlpkit_run <- function(x, ...) {
  cat("nlpkit run in", x$path, "\n")
  print(nlpkit("topics", x, quiet = TRUE))
  invisible(x)
}
