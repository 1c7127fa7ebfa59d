import json
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.catalog.prices import PriceBook, PriceQuote
from gpuyard.spec.problems import SpecError

ROW: dict[str, Any] = {
    "cloud": "aws",
    "item": "p5.48xlarge",
    "region": "us-east-1",
    "unit": "hour",
    "on_demand": 50,
    "currency": "USD",
    "date": "2026-11-30",
    "source": "our contract",
}


def quote(**values: Any) -> PriceQuote:
    return PriceQuote(**({"on_demand": None, "spot": None, "reserved_1y": None} | ROW | values))


def price_file(folder: Path, *rows: Any, **extra: Any) -> Path:
    path = folder / "prices.json"
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    more = "".join(f' "{name}": {json.dumps(value)},\n' for name, value in extra.items())
    path.write_text(f'{{\n{more} "prices": [\n{lines}\n ]\n}}\n', encoding="utf-8")
    return path


def refused(path: Path) -> list[str]:
    with pytest.raises(SpecError) as error:
        PriceBook.load(path)
    return [str(problem).removeprefix(f"{path}:") for problem in error.value.problems]


def test_the_package_brings_prices_with_date_currency_and_source() -> None:
    found = PriceBook.load().quote("aws", "p5.48xlarge", "us-east-1")
    assert found is not None
    assert (found.on_demand, found.currency, found.unit, found.date) == (55.04, "USD", "hour", "2026-07-20")
    assert found.source


def test_the_package_s_own_prices_pass_as_a_file_of_a_user(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    own = PriceBook.load()
    path.write_text(json.dumps({"prices": [asdict(each) for each in own.prices], "notes": own.notes}))
    assert PriceBook.load(path).prices == own.prices


def test_no_price_is_none() -> None:
    assert PriceBook.load().quote("alicloud", "ecs.gn8v.4xlarge", "cn-beijing") is None
    assert PriceBook.load().quote("aws", "p5.48xlarge", "cn-beijing") is None


def test_currencies_stay_as_they_are() -> None:
    book = PriceBook(prices=(quote(), quote(currency="CNY", on_demand=400)))
    assert [(each.currency, each.on_demand) for each in book.quotes("aws", "p5.48xlarge")] == [
        ("USD", 50),
        ("CNY", 400),
    ]


def test_the_hour_comes_before_the_month_and_the_newest_before_the_older() -> None:
    month = quote(unit="month", date="2026-12-01")
    old, new, undated = quote(date="2024"), quote(date="2026-11"), quote(date=None)
    book = PriceBook(prices=(month, undated, old, new))
    assert book.quotes("aws", "p5.48xlarge", "us-east-1") == (new, old, undated, month)
    assert book.quote("aws", "p5.48xlarge", "us-east-1") == new


def test_a_list_for_mainland_china_answers_for_its_regions_and_says_so() -> None:
    book = PriceBook.load()
    found = book.quote("tencentcloud", "GT4.41XLARGE948", "ap-nanjing")
    assert found is not None
    assert (found.region, found.currency) == ("cn-mainland", "CNY")
    assert book.quote("tencentcloud", "GT4.41XLARGE948", "ap-hongkong") is None


def test_a_region_s_own_price_comes_before_the_list_for_mainland_china() -> None:
    rows = [quote(cloud="alicloud", item="x", region=region) for region in ("cn-mainland", "cn-beijing")]
    found = PriceBook(prices=tuple(rows)).quote("alicloud", "x", "cn-beijing")
    assert found is not None
    assert found.region == "cn-beijing"


@pytest.mark.parametrize(
    ("when", "stale"),
    [
        ("2026-12-01", False),
        ("2026-06-04", False),
        ("2026-06-03", True),
        ("2026-06", False),
        ("2026-05", True),
        ("2026", False),
        ("2025", True),
        ("2021-05/2023-06", True),
        ("2021-05/2026-11", False),
        (None, True),
    ],
)
def test_stale_prices_are_marked_by_the_last_day_their_date_can_mean(when: str | None, stale: bool) -> None:
    assert quote(date=when).is_stale(date(2026, 12, 1)) is stale


def test_an_undated_price_is_never_fresh() -> None:
    assert quote(date=None).newest_day is None
    assert quote(date=None).is_stale(date(1990, 1, 1))


@given(st.dates(date(2020, 1, 1), date(2030, 1, 1)), st.integers(0, 3000), st.integers(0, 3000))
def test_a_price_never_becomes_fresh_again(day: date, earlier: int, later: int) -> None:
    one = quote(date=day.isoformat())
    first, second = sorted((date.fromordinal(day.toordinal() + earlier), date.fromordinal(day.toordinal() + later)))
    assert not one.is_stale(first) or one.is_stale(second)


def test_a_file_of_the_user_replaces_the_package_s_prices(tmp_path: Path) -> None:
    path = price_file(tmp_path, ROW, {**ROW, "item": "a", "on_demand": None, "spot": "1.5"}, notes=["net of discount"])
    book = PriceBook.load(path)
    assert (len(book.prices), book.notes, book.origin) == (2, ("net of discount",), str(path))
    assert book.prices[1].spot == 1.5
    assert book.quote("aws", "p4d.24xlarge", "us-east-1") is None


def test_every_wrong_row_of_a_file_is_told_with_its_line(tmp_path: Path) -> None:
    path = price_file(
        tmp_path,
        ROW,
        {**ROW, "cloud": "alcloud"},
        {**ROW, "currency": "dollars"},
        {**ROW, "on_demand": -1},
        {**ROW, "on_demand": "cheap"},
        {**ROW, "date": "2026-13-01"},
        {**ROW, "on_demand": None},
        {**ROW, "ondemand": 1},
        {key: value for key, value in ROW.items() if key != "source"},
        7,
    )
    assert refused(path) == [
        "4: prices[1].cloud: 'alcloud' is not allowed. Did you mean 'alicloud'? "
        + "Allowed: aws, alicloud or tencentcloud.",
        "5: prices[2].currency: should be a currency's ISO 4217 code such as USD or CNY, not 'dollars'.",
        "6: prices[3].on_demand: should be at least 0, not -1.",
        "7: prices[4].on_demand: should be a number, not 'cheap'.",
        "8: prices[5].date: should be a date such as 2026-11-30, 2026-11, 2026 or 2026-01/2026-06, not '2026-13-01'.",
        "9: prices[6]: has no price. Give on_demand, spot or reserved_1y.",
        "10: prices[7].ondemand: unknown key 'ondemand'. Did you mean 'on_demand'?",
        "11: prices[8].source: is missing. It must be given.",
        "12: prices[9]: should be a mapping of keys to values, not 7.",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "1: prices: should be a list of prices. Write"),
        ('{"prices": 3}', "1: prices: should be a list of prices. Write"),
        ('{"notes": 3, "prices": []}', "1: notes: should be a list of texts."),
        ('{"prices": [\n}', "2: is not valid JSON: Expecting value."),
        ("", "1: is not valid JSON: Expecting value."),
    ],
)
def test_a_file_that_is_no_price_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "prices.json"
    path.write_text(text, encoding="utf-8")
    found = refused(path)
    assert len(found) == 1
    assert found[0].startswith(message)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (missing,) = refused(tmp_path / "none.json")
    assert missing.endswith(" cannot be read: No such file or directory.")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    (unreadable,) = refused(tmp_path / "bytes.json")
    assert unreadable.endswith(" cannot be read: it is not UTF-8 text.")


@pytest.mark.parametrize(
    ("cloud", "region", "message"),
    [
        ("aws", "us-east-1a", "prices[0].region: 'us-east-1a' is no region of aws. Did you mean 'us-east-1'?"),
        ("aws", "cn-beijing", "prices[0].region: 'cn-beijing' is no region of aws."),
        ("aws", "us-east-1->moon", "prices[0].region: 'moon' is no region of aws. A list for all of mainland China"),
    ],
)
def test_a_misspelt_region_is_refused_and_not_a_price_that_nobody_finds(
    tmp_path: Path, cloud: str, region: str, message: str
) -> None:
    (found,) = refused(price_file(tmp_path, {**ROW, "cloud": cloud, "region": region}))
    assert message in found


def test_a_problem_is_told_even_where_its_line_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text('{"prices": [{"cloud": "\x7f"}], "prices": [{"cloud": "\x7f"}]}', encoding="utf-8")
    assert any("prices[0].cloud" in problem for problem in refused(path))
    path.write_text('{"prices": [{"cloud": "a", "cloud": "b"}]}', encoding="utf-8")
    assert any(problem.startswith("1: prices[0].cloud: 'b' is not allowed.") for problem in refused(path))


def test_a_file_nested_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text("[" * 100_000, encoding="utf-8")
    (found,) = refused(path)
    assert "nested too deeply" in found


def test_a_file_with_tabs_has_its_lines_too(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text('{\n\t"prices": [\n\t\t{"cloud": "aws"}\n\t]\n}\n', encoding="utf-8")
    assert {line.split(":")[0] for line in refused(path)} == {"3"}


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*ROW, "notes", "prices"]), inner),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_a_price_book_or_refused(tmp_path_factory: pytest.TempPathFactory, content: Any) -> None:
    path = tmp_path_factory.mktemp("prices") / "prices.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    try:
        PriceBook.load(path)
    except SpecError as error:
        assert error.problems
