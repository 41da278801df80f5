"""nlpkit name: names of topics by a language model, by people, or from phrases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit.errors import UsageError
from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.platform.options import READ
from nlpkit.topics.name.options import NameOptions


def name_cli(
    model: Annotated[Path, Argument("Run directory of a topic model.", metavar="RUN"), READ],
    options: NameOptions,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    """Name topics by phrases, by hand, or with a language model.

    --phrases chooses for each topic the phrases of its documents that are nearest to it. --names reads your own names.

    --llm asks a language model with OpenAI's protocol: ollama, llama.cpp, vLLM or a hosted model. The environment variable
    NLPKIT_LLM_KEY holds its API key. The model sees the words of a topic and the beginnings of typical documents. It must quote
    a passage that supports the name; nlpkit checks the quote and makes names unique. Answers are saved, so a second run asks
    nothing and an interrupted run continues. --layers also names the coarser and finer layers of a bertopic run.

    -o NEW/ writes a run with the names. -o names.toml writes a file of edits for `nlpkit edit`.

    \b
    Examples:
      nlpkit name run/ --phrases -o named/
      nlpkit name run/ --names data/samples/news_names.csv -o named2/
      nlpkit name run/ --llm http://localhost:11434/v1 --llm-model llama3.2 --dry-run
      nlpkit name run/ --llm http://localhost:11434/v1 --llm-model llama3.2 -n --json
    """
    from nlpkit.platform.runs.atomic import check_target
    from nlpkit.topics import views as render
    from nlpkit.topics.name.run import name_topics, plan_names

    if run.dry_run:
        console.plan(plan_names(model, options, run))
        return
    target = None
    if out.output is not None:
        is_file = Path(out.output).suffix == ".toml"
        if is_file and options.layers:
            raise UsageError(
                "`layers`: a file of edits holds no names of other layers; write a run", parameter="layers"
            )
        target = Path(out.output) if is_file else out.run_target([str(model)], "named")
        check_target(target, force=out.force, directory=not is_file)
    names = name_topics(model, options=options, execution=run)
    if target is not None:
        names.save(target, force=out.force, execution=run)
    facts = {"calls": names.calls, "cached": names.cached, "output": None if target is None else str(target)}
    console.say(
        render.names_blocks(names, target), lambda: {"run": str(model), "names": names.table().to_pylist(), **facts}
    )
