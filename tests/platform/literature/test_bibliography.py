"""The BibTeX entries of the sources: well formed, found by every name that a source has, each once."""

from __future__ import annotations

import re

from longwave.platform.literature.bibliography import FILE, bibliography, entries, keys
from longwave.platform.literature.published import published_rows


def test_bibtex_is_well_formed_and_every_key_stands_once() -> None:
    text = bibliography(f"{key}, everything" for key in entries())
    blocks = text.strip().split("\n\n")
    assert len(blocks) == len(set(entries().values()))
    heads = []
    for block in blocks:
        assert block.count("{") == block.count("}") and block.isascii()
        heads.append(re.match(r"@(book|inproceedings|misc|phdthesis)\{([\w-]+),\n", block)[2])  # type: ignore[index]
        names = re.findall(r"^  (\w+) = \{.+\},$", block, re.MULTILINE)
        assert {"author", "title", "year"} <= set(names) and len(names) == len(block.split("\n")) - 2
    assert len(set(heads)) == len(heads)


def test_a_source_names_the_paper_that_prints_it_and_those_it_credits() -> None:
    assert keys("lem, Table 1 (Kag & Saligrama 2021)") == ["lem", "kag2021"]
    assert keys("cornn, Table 1 (this paper)") == ["cornn"]
    assert keys("lipschitz, Table 1 (Jing et al. 2017, value adopted from Kerg et al. 2019 (*))") == [
        "lipschitz", "jing2017", "kerg2019",
    ]  # fmt: skip
    assert keys("thesis, Table 3.1 (UnICORNN paper as re-printed in LEM paper Table 2)") == [
        "thesis",
        "unicornn",
        "lem",
    ]


def test_every_source_of_a_published_number_has_an_entry() -> None:
    ours = published_rows()
    named = {key for row in ours for source in row["sources"].split("\n") for key in keys(source)}
    assert len(ours) > 500 and named <= set(entries())


def test_an_entry_is_found_by_its_key_and_by_each_other_name_of_it() -> None:
    text = FILE.read_text(encoding="utf-8")
    listed = [name for names in re.findall(r"ids = \{(.*)\}", text) for name in names.split(", ")]
    assert set(entries()) == {*re.findall(r"^@\w+\{(.*),$", text, re.MULTILINE), *listed}
    assert entries()["rusch2021a"] == entries()["cornn"] and "Coupled Oscillatory" in entries()["cornn"]
    assert bibliography(["lem, Table 1 (Rusch 2021)", "cornn, Table 2"]) == f"{entries()['cornn']}\n{entries()['lem']}"
