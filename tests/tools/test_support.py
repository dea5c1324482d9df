"""``npaccel support`` and the support page: both are made from the table."""

import numpy as np
import pytest
from click.testing import CliRunner

from npaccel._tools import cli, support_page


def run(*args):
    return CliRunner().invoke(cli.main, ("support", *args))


def test_totals_and_what_is_not_compiled():
    result = run()
    assert result.exit_code == 0
    rows = support_page.table()
    first = dict(line.split() for line in result.output.split("\n\n")[0].splitlines())
    assert {status: int(count) for status, count in first.items()} == support_page.totals(rows)
    words = {
        word for line in result.output.splitlines() if line[:2] == "  " for word in line.split()
    }
    for row in rows:
        assert (row.name in words) == (row.status != "compiled"), row.name


@pytest.mark.parametrize("name", ["np.percentile", "numpy.percentile", "percentile"])
def test_a_function_by_any_of_its_names(name):
    result = run(name)
    assert result.exit_code == 0
    assert result.output.startswith("numpy.percentile: compiled\n")


def test_an_alias_is_found_by_its_object():
    assert run("np.abs").output.startswith("numpy.absolute: compiled\n")
    assert "float16" in run("abs").output


def test_a_bare_name_of_several_objects_shows_them_all():
    output = run("vander2d").output + run("integers").output
    assert "numpy.random.Generator.integers: compiled" in output
    many = run("poisson").output
    assert "numpy.random.Generator.poisson" in many
    assert "numpy.random.RandomState.poisson" in many


def test_what_is_not_compiled_says_why():
    output = run("np.real_if_close").output
    assert "numpy.real_if_close: refused" in output
    assert "depends on array values" in output
    assert "strict=True" in output


def test_what_a_row_cannot_take_is_named():
    assert "all but axes" in run("np.matmul").output


def test_an_unknown_name_exits_with_1_and_similar_names():
    result = run("np.percntile")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "numpy.percentile" in result.stderr
    nothing = run("qqqqqqq")
    assert nothing.exit_code == 1
    assert "did you mean" not in nothing.stderr
    assert np.__version__ in nothing.stderr


def test_the_page_has_every_row_once_with_all_that_the_table_knows():
    text = support_page.page()
    methods = [
        row
        for row in support_page.table()
        if support_page.section(row) == support_page._UFUNC_METHODS
    ]
    lines = text.splitlines()
    for row in support_page.table():
        if row in methods:
            assert f"| `{row.name.rsplit('.', 1)[0]}` |" in text
            assert all(note in text for note in support_page.notes(row))
            continue
        line = support_page._line(*support_page.cells(row))
        assert lines.count(line) == 1, row.name
    counts = support_page.totals(support_page.table())
    assert "| **all** | " + " | ".join(f"**{n}**" for n in counts.values()) + " |" in text


def test_dtypes_come_from_numpys_loops():
    (row,) = support_page.find("np.bitwise_and")
    assert support_page.dtypes(row) == "bool, int8 to int64, uint8 to uint64"
    assert support_page.refused_dtypes(row) == "object"
    (row,) = support_page.find("np.subtract")
    assert "datetime64" in support_page.refused_dtypes(row)
    (row,) = support_page.find("np.add.reduce")
    assert "complex128" in support_page.dtypes(row)


def test_what_is_not_a_ufunc_takes_what_torch_has():
    (row,) = support_page.find("np.concatenate")
    assert support_page.dtypes(row).startswith("bool, ")
    assert "object" in support_page.refused_dtypes(row)
    assert support_page.devices(row) == "CPU, CUDA"
    assert support_page.tolerance(row).endswith(" eps")


def test_what_is_not_compiled_has_no_dtypes_and_runs_in_numpy():
    (row,) = support_page.find("np.savetxt")
    assert support_page.cells(row)[2:6] == ["", "", "NumPy", ""]


def test_a_chapter_for_every_kind_of_row():
    sections = {support_page.section(row) for row in support_page.table()}
    assert sections == set(support_page._ORDER)
