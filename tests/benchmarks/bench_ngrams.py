"""nlpkit ngram-lm beside KenLM's lmplz and NLTK on the same words: seconds, CPU seconds, peak memory, perplexity.

    python tests/benchmarks/bench_ngrams.py --lmplz KENLM/build/bin/lmplz --query KENLM/build/bin/query
    python tests/benchmarks/bench_ngrams.py --copies 4         # the corpus four times over, for memory and seconds alone

The corpus is cut once by nlpkit (sentences in lower case, words between blanks); each tool then reads that file of lines. KenLM is
compiled by hand (https://github.com/kpu/kenlm). NLTK keeps every n-gram as a Python object: it gets the first 100,000 sentences. Needs
../shared/data.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from harness import CACHE, DATA, spent

HELD_OUT = 50  # every 50th document
NLTK_SENTENCES = 100_000


def prepare(name: str, copies: int) -> tuple[Path, Path]:
    """Return files of sentences, to learn from and to test on."""
    train, test = CACHE / f"{Path(name).name}.{copies}.train.txt", CACHE / f"{Path(name).name}.test.txt"
    if train.exists() and test.exists():
        return train, test
    import pyarrow as pa

    from nlpkit.text.options import CountOptions
    from nlpkit.text.sentences import Unit, split_texts
    from nlpkit.text.settings import preprocess_options
    from nlpkit.text.tokens import tokens_of

    CACHE.mkdir(parents=True, exist_ok=True)
    options = preprocess_options(CountOptions(language="en").tokens())
    with gzip.open(DATA / name, "rt") as file, train.open("w") as learn, test.open("w") as held_out:
        texts = [json.loads(line)["text"] for line in file]
        for target, some in ((held_out, texts[::HELD_OUT]), (learn, [t for i, t in enumerate(texts) if i % HELD_OUT])):
            for start in range(0, len(some), 5000):
                sentences = split_texts(pa.array(some[start : start + 5000]), Unit("sentence")).texts
                tokens, _ = tokens_of(pa.table({"text": sentences}), options)
                terms = tokens.terms
                for a, b in zip(tokens.offsets[:-1], tokens.offsets[1:], strict=True):
                    if a < b:
                        target.write(" ".join([terms[i] for i in tokens.term_ids[a:b].tolist()]) + "\n")
    if copies > 1:
        once = train.read_bytes()
        with train.open("wb") as file:
            for _ in range(copies):
                file.write(once)
    return train, test


def measured(command: list[str]) -> str:
    """Run a program; return its seconds, CPU seconds and peak memory in words."""
    row = spent(command)
    if row["exit"]:
        raise SystemExit(f"{' '.join(command)} failed: {row['said'][-2000:]}")
    return f"{row['seconds']:.1f} s, {row['cpu']:.1f} s of processor, {row['mb']:,.0f} MB"


def nltk_child(train: str, order: int) -> None:
    from nltk.lm import WittenBellInterpolated
    from nltk.lm.preprocessing import padded_everygram_pipeline

    with Path(train).open() as file:
        sentences = [line.split() for line, _ in zip(file, range(NLTK_SENTENCES), strict=False)]
    start = time.perf_counter()
    model = WittenBellInterpolated(order)
    model.fit(*padded_everygram_pipeline(order, sentences))
    words = sum(map(len, sentences))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": time.perf_counter() - start, "mb": peak, "words": words}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--corpus", default="imdb/imdb_100k.jsonl.gz")
    parser.add_argument("--orders", type=int, nargs="+", default=[3, 5])
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--lmplz")
    parser.add_argument("--memory", default="2G", help="of lmplz (-S)")
    parser.add_argument("--query")
    parser.add_argument("--nltk", action="store_true")
    parser.add_argument("--nltk-child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.nltk_child:
        nltk_child(arguments.nltk_child[0], int(arguments.nltk_child[1]))
        return
    with ProcessPoolExecutor(1) as pool:  # the peak of this process would count as that of those it starts
        train, test = pool.submit(prepare, arguments.corpus, arguments.copies).result()
    words = sum(len(line.split()) for line in train.open())
    print(f"{words:,} words")
    for order in arguments.orders:
        run, arpa = CACHE / "lm-run", CACHE / "lmplz.arpa"
        nlpkit = [sys.executable, "-m", "nlpkit"]
        ours = measured(
            [*nlpkit, "ngram-lm", str(train), "--unit", "document", "--order", str(order), "-f", "-q", "-o", str(run)]
        )
        scored = subprocess.run(
            [*nlpkit, "predict", str(run), str(test), "-f", "-q", "--json", "-o", str(CACHE / "scored.parquet")],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        print(f"nlpkit order {order}: {ours}, perplexity {json.loads(scored.stdout)['perplexity']:.2f}")
        if arguments.lmplz:
            files = ["-S", arguments.memory, "-T", str(CACHE), "--text", str(train), "--arpa", str(arpa)]
            line = f"lmplz order {order}: {measured([arguments.lmplz, '-o', str(order), *files])}"
            if arguments.query:
                with test.open() as file:
                    answer = subprocess.run(
                        [arguments.query, str(arpa)], stdin=file, capture_output=True, text=True, check=True
                    )
                found = next(x for x in answer.stdout.splitlines() if x.startswith("Perplexity including"))
                line += f", perplexity {float(found.split()[-1]):.2f}"
            print(line)
        if arguments.nltk:
            answer = subprocess.run(
                [sys.executable, __file__, "--nltk-child", str(train), str(order)],
                capture_output=True,
                text=True,
                check=True,
            )
            one = json.loads(answer.stdout)
            print(f"NLTK order {order}: {one['words']:,} words in {one['seconds']:.1f} s, {one['mb']:,.0f} MB")


if __name__ == "__main__":
    main()
