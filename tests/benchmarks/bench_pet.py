"""A linear head, full fine-tuning, PET and PETapter on few labelled texts, with a small masked language model that is pre-trained here.

python tests/benchmarks/bench_pet.py --steps 1100 --seeds 3

--course: AG News by the protocol and settings of Rieger et al. 2024 (github.com/JonasRieger/petapter, ag/config.yml): 5 stratified samples
of 10 texts, 5 trainings on each, 30 epochs of batches of 2 at a rate of 5e-5, one pattern, the head of transformers.
--repeats, --tested and --methods make it smaller.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from bench_finetune import write
from harness import lines

VOCABULARY, HIDDEN, LAYERS, WINDOW = 8000, 128, 2, 64
NEWS_WORDS = """
[words]
Business = "business"
Sports = "sports"
"Sci/Tech" = "technology"
World = "world"
"""
PATTERNS = {
    "ag_news": f'patterns = ["[MASK] : [text]", "[text] ( [MASK] )", "[MASK] news : [text]"]{NEWS_WORDS}',
    "trec": 'patterns = ["[text] [MASK] .", "[MASK] : [text]"]',
}
METHODS = "head,full,pet,petapter,petapter(lora)"
COURSE = ["--totals", "10", "--epochs", "30", "--batch-size", "2", "--lr", "5e-5", "--warmup", "0"]
COURSE_PATTERNS = f'patterns = ["[MASK] News: [text]"]{NEWS_WORDS}'.replace("technology", "tech")
COURSE_METHODS = (
    "lora,ia3,pfeiffer,petapter(lora),petapter(ia3),petapter(pfeiffer),petapter(pfeiffer,head=base),"
    "petapter(pfeiffer,head=frozen)"
)


def write_base(folder: Path, texts: list[str]) -> None:
    """Write a BERT of two layers with random weights, and a WordPiece vocabulary of the texts."""
    import torch
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertForMaskedLM

    folder.mkdir()
    tokenizer = BertWordPieceTokenizer(lowercase=True)
    tokenizer.train_from_iterator(texts, vocab_size=VOCABULARY, min_frequency=3, show_progress=False)
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": WINDOW, **named}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=4,
        intermediate_size=2 * HIDDEN, max_position_embeddings=WINDOW,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(str(folder))


def run(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "nlpkit", *map(str, words)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--base", type=Path, help="a masked language model; default: one that is pre-trained here")
    parser.add_argument("--course", action="store_true", help="the course's protocol and settings")
    parser.add_argument("--head-lr", type=float, default=5e-5, help="with --course; the course's is that of the rest")
    parser.add_argument("--repeats", type=int, default=5, help="with --course, trainings on each of the five samples")
    parser.add_argument("--tested", type=int, default=500, help="test documents")
    parser.add_argument("--methods", default=COURSE_METHODS, help="with --course")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        splits = {data: write(data, folder, args.tested) for data in PATTERNS}
        base = args.base
        if base is None:
            texts = [row["text"] for row in lines("ag_news_train_sub.jsonl.gz")[:14000]]
            texts += [row["text"] for row in lines("trec.jsonl") if row["split"] == "train"]
            (folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
            write_base(folder / "base", texts)
            run("train-encoder", folder / "texts.jsonl", "--objective", "mlm", "--base", folder / "base", "--max-tokens", 48, "--max-steps",
                args.steps, "--lr", 2e-3, "--threads", args.threads, "-q", "-o", folder / "mlm")  # fmt: skip
            base = folder / "mlm/model/transformers"
        if args.course:
            train, test = splits["ag_news"]
            (folder / "ag_news.toml").write_text(COURSE_PATTERNS)
            protocol = f"course(repeats={args.repeats})"
            run("finetune", train, "--test", test, "--method", args.methods, *COURSE, "--protocol", protocol, "--head-lr", args.head_lr,
                "--pooling", "transformers", "--base", base, "--patterns", folder / "ag_news.toml", "--twins", 0, "--threads", args.threads,
                "--markdown", "-q", "-o", folder / "course")  # fmt: skip
            return
        for data, shots in (("ag_news", "3"), ("trec", "2")):
            train, test = splits[data]
            (folder / f"{data}.toml").write_text(PATTERNS[data])
            run("finetune", train, "--test", test, "--method", METHODS, "--shots", shots, "--seeds", args.seeds, "--base", base,
                "--patterns", folder / f"{data}.toml", "--twins", 0, "--threads", args.threads, "--markdown", "-q", "-o",
                folder / data)  # fmt: skip


if __name__ == "__main__":
    main()
