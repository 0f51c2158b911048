"""What the environment says about object stores.

Keys, tokens and the region are read by Lance and obstore themselves, in every way Amazon's own tools know. The address of another
store is not, by both alike; so it is read here and handed to both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_OPTIONS: Final = {
    "AWS_ENDPOINT_URL": "aws_endpoint",
    "AWS_ENDPOINT_URL_S3": "aws_endpoint",
    "AWS_ALLOW_HTTP": "allow_http",
    "AWS_DEFAULT_REGION": "aws_region",
    "AWS_REGION": "aws_region",
}
"""Variable to storage option; of two for one option the later counts."""


def options_from(environment: Mapping[str, str]) -> dict[str, str]:
    """Storage options that the environment gives."""
    return {option: environment[name] for name, option in _OPTIONS.items() if environment.get(name)}
