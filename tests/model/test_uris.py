"""URIs of objects outside a graph: one spelling for each, compared by segments, and nothing that can be read in two ways."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from omnigraph.model.uris import BadUri, Uri, parse_uri, shown_uri

SEGMENTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\%"), min_size=1, max_size=8).filter(
    lambda s: s not in (".", "..")
)
URIS = st.builds(
    lambda bucket, segments: Uri("s3" if bucket else "file", bucket, tuple(segments)),
    st.sampled_from(["", "media", "my.bucket-2"]),
    st.lists(SEGMENTS, min_size=1, max_size=5),
)


@given(URIS)
def test_a_spelt_uri_reads_back(uri: Uri) -> None:
    assert parse_uri(str(uri)) == uri
    assert shown_uri(str(uri)) == (str(uri) if len(str(uri)) <= 200 else str(uri)[:200] + "…")


@given(URIS, URIS)
def test_what_is_above_is_a_prefix_of_whole_segments(one: Uri, other: Uri) -> None:
    inside = Uri(one.scheme, one.bucket, (*one.segments, *other.segments))
    assert one.is_above(inside)
    assert not inside.is_above(one)
    assert not one.is_above(one)
    longer = Uri(one.scheme, one.bucket, (*one.segments[:-1], one.segments[-1] + "x", *other.segments))
    assert not one.is_above(longer)


@given(st.text(max_size=60))
@example("s3://bucket/%2e%2e/x")
def test_whatever_is_given_is_read_or_refused_and_means_one_thing(text: str) -> None:
    try:
        uri = parse_uri(text)
    except BadUri:
        return
    assert parse_uri(str(uri)) == uri
    assert not {".", "..", ""} & set(uri.segments)
    assert not any(c in segment for segment in uri.segments for c in "/\\%\0")


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("S3://media/a", "s3://media/a"),
        ("s3://media/a%c3%a9", "s3://media/a%C3%A9"),
        ("s3://media/a%2Bb", "s3://media/a+b"),
        ("s3://media/a%20b", "s3://media/a%20b"),
        ("s3://media/a%3Fb%23", "s3://media/a%3Fb%23"),
        ("s3://media/user@host", "s3://media/user@host"),
        ("file://localhost/data/x", "file:///data/x"),
    ],
)
def test_one_spelling_for_each(text: str, normal: str) -> None:
    assert str(parse_uri(text)) == normal


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "absolute"),
        ("a.png", "absolute"),
        ("/data/a.png", "absolute"),
        ("file:/data/a.png", "absolute"),
        ("s3:media/a", "absolute"),
        ("s3://media", "no object"),
        ("s3://media/", "no object"),
        ("s3://media/a/", "folder"),
        ("s3:///a", "bucket"),
        ("s3://Media/a", "bucket"),
        ("s3://media:9000/a", "bucket"),
        ("s3://me%64ia/a", "bucket"),
        ("s3://key@media/a", "password"),
        ("s3://key:secret@media/a", "password"),
        ("s3://media/a?versionId=1", "query"),
        ("s3://media/a?", "query"),
        ("s3://media/a#x", "fragment"),
        ("s3://media/a#", "fragment"),
        ("s3://media/../other/a", "`..`"),
        ("s3://media/./a", "`.`"),
        ("s3://media//a", "empty"),
        ("s3://media/a//b", "empty"),
        ("s3://media/%2e%2e/a", "ambiguous"),
        ("s3://media/%2E/a", "ambiguous"),
        ("s3://media/a%2Fb", "ambiguous"),
        ("s3://media/a%5cb", "ambiguous"),
        ("s3://media/%252e", "ambiguous"),
        ("s3://media/%41", "ambiguous"),
        ("s3://media/%00", "ambiguous"),
        ("s3://media/a%0Ab", "ambiguous"),
        ("s3://media/%", "percent-encoded"),
        ("s3://media/%4", "percent-encoded"),
        ("s3://media/a b", "percent-encoded"),
        ("s3://media/é", "percent-encoded"),
        ("s3://media/a\\b", "percent-encoded"),
        ("s3://media/a\n", "percent-encoded"),
        ("s3://media/%FF", "UTF-8"),
        ("https://media/a", "neither"),
        ("gs://media/a", "neither"),
        ("file://server/data/a", "host"),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(text: str, why: str) -> None:
    with pytest.raises(BadUri, match=why):
        parse_uri(text)


def test_a_folder_may_end_in_a_slash_and_may_be_a_whole_bucket() -> None:
    assert parse_uri("s3://media/", folder=True) == parse_uri("s3://media", folder=True) == Uri("s3", "media", ())
    assert parse_uri("file:///data/", folder=True).path == "/data"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3://key:SECRET@media/a", "s3://…"),
        ("s3:///key:SECRET@media/a", "s3://…"),
        ("s3://key:SEC?RET@media/a", "s3://…"),
        ("key:SECRET@media", "…"),
        ("https://host/a?sig=SECRET", "https://host/a?…"),
        ("https://host/a#SECRET", "https://host/a?…"),
        ("s3://media/../a", "s3://media/../a"),
        ("s3://media/a\n\x1b[2J", "s3://media/a\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}[2J"),
    ],
)
def test_what_is_shown_holds_no_secret(text: str, shown: str) -> None:
    assert shown_uri(text) == shown
