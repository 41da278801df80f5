"""Methods by name: how they are spelled, and what is said of those that are not known."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nlpkit.finetune.methods import KINDS, Method, defaults, parse_method, parse_methods
from tests.refusals import refuses


@pytest.mark.parametrize("name", KINDS)
def test_a_bare_name_has_the_defaults_and_is_its_own_spelling(name: str) -> None:
    method = parse_method(name)
    assert method == Method(name, dict(defaults(name)))
    assert method.spelling == name
    assert method.kind == KINDS[name]
    assert parse_method(f"  {name.upper()}( ) ") == method


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("lora(r=4,alpha=32)", "lora(r=4,alpha=32)"),
        (" lora ( alpha = 32.0 , r=4, )", "lora(r=4,alpha=32)"),
        ("lora(r=8)", "lora"),
        ("dora(targets=q+k+v+o)", "dora(targets=q+k+v+o)"),
        ("lora(dropout=0.1)", "lora(dropout=0.1)"),
        ("lora(dropout=0.1234567891)", "lora(dropout=0.1234567891)"),
        ("lora(alpha=1e-7)", "lora(alpha=1e-07)"),
        ("lora(alpha=12345678.5)", "lora(alpha=12345678.5)"),
        ("setfit(balanced=FALSE,R=5)", "setfit(R=5,balanced=false)"),
        ("setfit(head=differentiable)", "setfit(head=differentiable)"),
        ("compacter++(n=2)", "compacter++(n=2)"),
        ("unipelt(lora_r=4)", "unipelt(lora_r=4)"),
        ("prefix(length=5.0)", "prefix(length=5)"),
        ("PETapter( lora , r=4)", "petapter(lora,r=4)"),
        ("petapter(pfeiffer,r=4)", "petapter(r=4)"),
        ("petapter(head=new)", "petapter"),
        ("petapter(lora,r=4,head=frozen)", "petapter(lora,head=frozen,r=4)"),
        ("ipet(generations=2,alpha=0)", "ipet(alpha=0,generations=2)"),
        ("tfew(ul=0)", "tfew(ul=0)"),
        ("adasent(R=5,sept=a/b.c)", "adasent(sept=a/b.c,R=5)"),
    ],
)
def test_the_spelling_is_read_as_the_same_method(text: str, spelling: str) -> None:
    method = parse_method(text)
    assert method.spelling == spelling
    assert parse_method(spelling) == method


def test_options_have_the_type_of_their_default() -> None:
    options = parse_method("lora(r=4,alpha=2)").options
    assert (options["r"], options["alpha"]) == (4, 2.0)
    assert (type(options["r"]), type(options["alpha"])) == (int, float)
    assert parse_method("setfit(balanced=false)").options["balanced"] is False


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("adapter", "pfeiffer"),
        ("bottleneck", "pfeiffer"),
        ("(ia)3", "ia3"),
        ("(IA)3", "ia3"),
        ("prefix-tuning", "prefix"),
        ("prompt-tuning", "prompt"),
    ],
)
def test_aliases(alias: str, name: str) -> None:
    assert parse_method(alias).spelling == name


def test_an_alias_with_options() -> None:
    assert parse_method("(ia)3(targets=k+v)").spelling == "ia3(targets=k+v)"
    assert [m.name for m in parse_methods("(ia)3,lora,prompt-tuning(length=3)")] == ["ia3", "lora", "prompt"]


@pytest.mark.parametrize(
    "text",
    [
        "lroa",
        "xyz",
        "lora(rank=8)",
        "lora(8)",
        "full(r=8)",
        "lora(r=many)",
        "lora(r=8.5)",
        "lora(r=-1)",
        "lora(alpha=nan)",
        "lora(alpha=inf)",
        "setfit(balanced=1)",
        "lora(r=8,r=4)",
        "petapter(full)",
        "petapter(lora,reduction=2)",
        "petapter(adapter=lora)",
        "petapter(head=trained)",
        "pfeiffer(head=new)",
        "pet(alpha=2)",
        "pet(weights=none)",
        "lora(r=8",
        "lora)",
        "full(x=1)",
        "lora(r=8))",
        "(r=8)",
        "",
    ],
)
def test_what_cannot_be_read(text: str) -> None:
    with refuses("method"):
        parse_method(text)


def test_lists() -> None:
    found = parse_methods("full, lora(r=4,alpha=8) ,setfit(R=5,head=logistic),")
    assert [m.spelling for m in found] == ["full", "lora(r=4,alpha=8)", "setfit(R=5)"]
    assert [m.name for m in parse_methods(" all ")] == list(KINDS)
    assert [m.spelling for m in parse_methods("lora,lora(r=4)")] == ["lora", "lora(r=4)"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " , ",
        "lora(r=8),lora",
        "adapter,pfeiffer",
        "lora,all",
        "all,foo",
    ],
)
def test_lists_that_cannot_be_read(text: str) -> None:
    with refuses("method"):
        parse_methods(text)


PAGE = (Path(__file__).parents[2] / "docs/guides/finetune-methods.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in KINDS if defaults(name)])
def test_the_table_of_options_has_the_defaults(name: str) -> None:
    table = PAGE.split("| method | options and their defaults |")[1].split("\n\n")[0]
    (cells,) = re.findall(rf"^\| (?:`\S+`, )?`{re.escape(name)}`(?:, `\S+`)? \| (.*) \|$", table, flags=re.MULTILINE)
    listed = ",".join(own for own in re.findall(r"`([^`]+)`", cells) if "=" in own)
    told = dict(item.split("=") for item in listed.split(","))
    like = re.search(r"then as `(\w+)`", cells)
    rest = dict(defaults(like[1])) if like else {}
    written = ",".join(f"{key}={value}" for key, value in told.items())
    assert dict(parse_method(f"{name}({written})").options) == dict(defaults(name))
    assert {**rest, **dict.fromkeys(told)}.keys() == dict(defaults(name)).keys()
    assert all(defaults(name)[key] == value for key, value in rest.items())
