"""What the page of sources says of engines is what their tests hold them to."""

from __future__ import annotations

import ast

from prdp.engines.registry import ENGINES
from tests.docs import support_table


def test_the_page_s_table_is_what_the_tests_say() -> None:
    page = support_table.PAGE.read_text(encoding="utf-8")
    assert support_table.START in page
    assert support_table.written(page) == page, "python -m tests.docs.support_table writes it anew"


def test_a_class_without_a_contract_and_a_test_without_a_mark_say_nothing() -> None:
    source = (
        "class Base(StorageContract): ...\n"
        "class TestBelow(Base): ...\n"
        "class TestPlain: ...\n"
        "@pytest.mark.meets('killed', 'cut')\n"
        "def test_faults(): ...\n"
        "def test_other(): ...\n"
        "@pytest.mark.parametrize('joins', [])\n"
        "def test_another(): ...\n"
    )
    assert sorted(support_table._claims(ast.parse(source))) == ["cut", "killed", "storage"]


def test_every_engine_that_prdp_brings_is_in_the_table() -> None:
    engines = {*support_table.ENGINES} - {"mariadb"} | {"sqlalchemy"}
    assert engines == {*ENGINES}
    assert all({"reads", "groups", "owners"} <= claims for claims in support_table.met().values())
