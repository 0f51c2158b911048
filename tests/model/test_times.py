"""Dates and moments as text: what is written reads back as the same day and the same millisecond."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.model.times import EPOCH, date_days, date_text, datetime_ms, datetime_text, days_of, ms_of

FAR = 95_000_000
"""Days from the epoch: about 260,000 years."""


@given(st.integers(-FAR, FAR))
def test_a_day_reads_back(days: int) -> None:
    assert date_days(date_text(days)) == days


@given(st.integers(-FAR * 86_400_000, FAR * 86_400_000))
def test_a_moment_reads_back(ms: int) -> None:
    assert datetime_ms(datetime_text(ms)) == ms


@given(st.dates())
def test_days_of_the_calendar_are_spelt_as_python_spells_them(day: date) -> None:
    assert date_text(days_of(day)) == day.isoformat()


@given(st.datetimes(timezones=st.just(UTC)))
def test_moments_of_the_calendar_have_three_digits_of_a_second(moment: datetime) -> None:
    cut = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert datetime_text(ms_of(cut)) == cut.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (0, "1970-01-01"),
        (-719_162, "0001-01-01"),
        (-719_163, "+00000-12-31"),
        (-719_528, "+00000-01-01"),
        (-719_529, "-00001-12-31"),
        (2_932_896, "9999-12-31"),
        (2_932_897, "+10000-01-01"),
    ],
)
def test_years_beyond_the_calendar_have_a_sign(days: int, text: str) -> None:
    assert date_text(days) == text
    assert date_days(text) == days


def test_a_moment_before_the_epoch() -> None:
    assert datetime_text(-1) == "1969-12-31T23:59:59.999Z"
    assert datetime_text((EPOCH + timedelta(days=1) - EPOCH) // timedelta(milliseconds=1)) == "1970-01-02T00:00:00.000Z"
