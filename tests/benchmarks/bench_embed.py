"""Documents per second of each engine of a sentence encoder beside sentence-transformers' default, and what its vectors are worth.

    python tests/benchmarks/bench_embed.py                    # speed: rounds in turn, the best of each
    python tests/benchmarks/bench_embed.py --part sts         # Spearman on the test pairs of STS-B
    python tests/benchmarks/bench_embed.py --part topics      # AMI of `bertopic --k auto` with the classes
    python tests/benchmarks/bench_embed.py --part roofline    # share of the token rate that the model alone has
    python tests/benchmarks/bench_embed.py --part roofline --device cuda

All engines are loaded before the first clock starts and take their turns within one process, so that other work on the machine
hits all of them. `per CPU second` counts the seconds that this process had the processors, which a busy machine changes less.
Needs ../shared/data and the extras neural, minilm, openvino and onnx.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from harness import DATA

from nlpkit.embed.models import DEFAULT_MODEL

CORPORA = {"AG News": "ag_news/ag_news_test.jsonl", "20 Newsgroups": "20newsgroups/20newsgroups.jsonl.gz"}
LARGE = {**CORPORA, "AG News": "ag_news/ag_news_train_sub.jsonl.gz"}
ENGINES = (
    ("torch", "fp32"),
    ("torch", "bf16"),
    ("openvino", "fp32"),
    ("openvino", "bf16"),
    ("onnx", "fp32"),
    ("torch", "int8"),
)
PEER = "sentence-transformers, fp32"
Embed = Callable[[list[str]], np.ndarray]


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSONL file."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def texts_of(corpus: str, n: int, files: Mapping[str, str] = CORPORA) -> list[str]:
    """Return texts spread evenly over a corpus."""
    texts = [row["text"] for row in rows(DATA / files[corpus]) if row["text"].strip()]
    return texts[:: max(1, len(texts) // n)][:n]


def engines(names: list[str], threads: int) -> dict[str, Embed]:
    """Return what embeds texts, by name; sentence-transformers' default first."""
    import torch

    from nlpkit.embed.engines import load_sentence_transformer
    from nlpkit.embed.loading import load_encoder
    from nlpkit.embed.models import find_model

    def wanted(name: str) -> bool:
        return not names or any(part in name for part in names)

    out: dict[str, Embed] = {}
    if wanted(PEER):
        peer = load_sentence_transformer(find_model(offline=True).path, torch.device("cpu"), command="bench")

        def embed_by_peer(texts: list[str]) -> np.ndarray:
            torch.set_num_threads(threads)
            return np.asarray(peer.encode(texts, show_progress_bar=False))

        out[PEER] = embed_by_peer
    for engine, precision in ENGINES:
        name = f"{engine}, {precision}"
        if wanted(name):
            encoder = load_encoder(engine=engine, precision=precision, offline=True, threads=threads, long="truncate")
            out[name] = lambda texts, encoder=encoder: encoder.encode(texts)[0]
    return out


def speed(names: list[str], threads: int, n: int, rounds: int) -> None:
    """Print documents per second of each engine, and its cosines to torch in fp32."""
    ready = engines(names, threads)
    for corpus in CORPORA:
        texts = texts_of(corpus, n if corpus == "AG News" else n // 4)
        best = dict.fromkeys(ready, (np.inf, np.inf))
        vectors = {}
        for embed in ready.values():
            embed(texts[:16])
        for _ in range(rounds):
            for name, embed in ready.items():
                wall, cpu = time.perf_counter(), time.process_time()
                vectors[name] = embed(texts)
                spent = time.perf_counter() - wall, time.process_time() - cpu
                best[name] = min(best[name][0], spent[0]), min(best[name][1], spent[1])
        exact = vectors["torch, fp32"]
        print(
            f"\n{corpus}, {len(texts)} documents, {threads} threads, best of {rounds}, load {os.getloadavg()[0]:.0f}\n"
        )
        print("| engine | documents/s | per CPU second | cosine to fp32, mean | smallest |\n|---|---|---|---|---|")
        for name, (wall, cpu) in best.items():
            cosine = (vectors[name] * exact).sum(axis=1)
            rates = f"{len(texts) / wall:.0f} | {len(texts) / cpu:.0f}"
            print(f"| {name} | {rates} | {cosine.mean():.5f} | {cosine.min():.5f} |", flush=True)


def sts(names: list[str], threads: int) -> None:
    """Print the Spearman correlation of cosines with the scores of people."""
    from scipy.stats import spearmanr

    pairs = [row for row in rows(DATA / "stsbenchmark" / "stsbenchmark.jsonl") if row["split"] == "test"]
    print(f"STS-B, {len(pairs)} test pairs\n\n| engine | Spearman |\n|---|---|")
    for name, embed in engines(names, threads).items():
        a, b = (embed([row[key] for row in pairs]) for key in ("sentence1", "sentence2"))
        score = spearmanr((a * b).sum(axis=1), [row["score"] for row in pairs]).statistic
        print(f"| {name} | {score:.4f} |", flush=True)


def topics(names: list[str], threads: int, n: int) -> None:
    """Print how the topics from the vectors of each engine agree with the classes, and with those from fp32 of torch."""
    import pyarrow as pa
    from sklearn.metrics import adjusted_mutual_info_score

    import nlpkit as nk
    from nlpkit.platform.documents.arrays import embedding_column

    ready = engines(names, threads)
    for corpus, path in CORPORA.items():
        documents = [row for row in rows(DATA / path) if row["text"].strip()]
        documents = documents[:: max(1, len(documents) // n)][:n]
        texts, labels = ([row[key] for row in documents] for key in ("text", "label"))
        drawn: dict[str, np.ndarray] = {}
        for name, embed in ready.items():
            table = pa.table({"id": [str(row["id"]) for row in documents], "text": texts})
            table = table.append_column("embedding", embedding_column(embed(texts)))
            fit = nk.fit_bertopic(table, k="auto", seed=42)
            drawn[name] = fit.documents["topic"].to_numpy()
        exact = drawn.get("torch, fp32")
        print(f"\n{corpus}, {len(texts)} documents\n")
        print("| engine | topics | AMI with the classes | AMI with the topics from fp32 |\n|---|---|---|---|")
        for name, z in drawn.items():
            scores = [adjusted_mutual_info_score(labels, z)]
            scores += [] if exact is None else [adjusted_mutual_info_score(exact, z)]
            print(
                f"| {name} | {len(set(z.tolist()) - {-1})} | {' | '.join(f'{score:.4f}' for score in scores)} |",
                flush=True,
            )


def roofline(device: str, precision: str, n: int, encoder_name: str) -> None:
    """Print tokens per second of the torch engine, one thread or one GPU, beside what the model can at best be computed in.

    The whole: from texts to vectors, on a GPU several parts of 4,096 texts at a time as commands have them; first texts with words
    that are new to the encoder, then the same ones four times. The model alone: ids to vectors of tokens, over batches of full
    size that lie on the device. Its products with weights alone: in its precision, no attention, no norms, as if the rest cost
    nothing. On a GPU sentence-transformers comes last, with its usual batch and one of 512.
    """
    import torch

    from nlpkit.embed.encoders import EmbedTotals, encode_ahead
    from nlpkit.embed.loading import load_encoder
    from nlpkit.embed.token_ids import plan_batches

    encoder = load_encoder(
        encoder_name, engine="torch", precision=precision, device=device, offline=True, threads=1, long="truncate"
    )
    cpu, model = device == "cpu", encoder._engine.model  # type: ignore[attr-defined]
    clock = time.process_time if cpu else time.perf_counter
    torch.set_num_threads(1)

    def best(work: Callable[[], object], times: int) -> float:
        work()
        spent = []
        for _ in range(times):
            start = clock()
            work()
            if not cpu:
                torch.cuda.synchronize()
            spent.append(clock() - start)
        return min(spent)

    def whole(texts: list[str]) -> tuple[float, float]:
        """Return tokens that the model sees and documents per second."""
        parts = ((i, texts[i : i + 4096], None) for i in range(0, len(texts), 4096))
        totals, start = EmbedTotals(), clock()
        for _ in encode_ahead(parts, encoder, totals):
            pass
        seconds = clock() - start
        return (totals.tokens - totals.tokens_cut + 2 * totals.docs) / seconds, totals.docs / seconds

    print(
        "| corpus | new texts | again | model alone | products alone | again of the model alone |\n|---|--:|--:|--:|--:|--:|"
    )
    for corpus in CORPORA:
        texts = texts_of(corpus, n if cpu else 10 * n, LARGE)
        encoder.encode(texts[:512])
        new, (rate, documents) = whole(texts), whole(texts if cpu else 4 * texts)
        read: Any = encoder._engine.read(texts[:4096])
        batches = plan_batches(read.lengths, encoder.batch_tokens)
        batch = batches[len(batches) // 2]
        lengths = read.lengths[batch.rows]
        ids = torch.from_numpy(read.lay_out(batch.rows, lengths)).to(model.device)
        starts = torch.from_numpy(np.append(0, lengths.cumsum())).to(model.device, torch.int32)
        x = torch.randn(len(ids), model.dim).to(model.device, model.dtype)

        def alone(
            ids: Any = ids, starts: Any = starts, batch: Any = batch, longest: int = int(lengths.max())
        ) -> object:
            if model.packed is None:
                return model.forward(ids, batch.groups, None)
            return model.forward_packed(ids, starts, longest)

        def products(x: Any = x) -> None:
            for qkv, out, _, up, down, _ in model.layers:
                qkv(x), out(x), down(up(x))

        with torch.inference_mode():
            by_model, by_products = (len(ids) / best(work, 3 if cpu else 10) for work in (alone, products))
        both = [f"{tokens:,.0f} ({docs:,.0f} documents/s)" for tokens, docs in (new, (rate, documents))]
        cells = [*both, f"{by_model:,.0f}", f"{by_products:,.0f}", f"{rate / by_model:.0%}"]
        print(f"| {corpus}, {encoder.precision} on {device} | {' | '.join(cells)} |", flush=True)
        if not cpu:
            from sentence_transformers import SentenceTransformer

            peer = SentenceTransformer(str(encoder.path), device=device)
            for size in (32, 512):
                some = texts[: 16 * size]
                peer.encode(some[:size], batch_size=size, show_progress_bar=False)
                start = clock()
                peer.encode(some, batch_size=size, show_progress_bar=False)
                print(
                    f"sentence-transformers, fp32, batches of {size}: {len(some) / (clock() - start):,.0f} documents/s"
                )


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["speed", "sts", "topics", "roofline"], default="speed")
    parser.add_argument("--engines", nargs="*", default=[], help="parts of their names; default: all")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--encoder", default=DEFAULT_MODEL, help="of the roofline")
    args = parser.parse_args()
    if args.part == "speed":
        speed(args.engines, args.threads, args.n, args.rounds)
    elif args.part == "sts":
        sts(args.engines, args.threads)
    elif args.part == "topics":
        topics(args.engines, args.threads, args.n)
    else:
        roofline(args.device, args.precision, args.n, args.encoder)


if __name__ == "__main__":
    main()
