"""Every paper: cells of printed tables from a folder of data, and a clear error where the data are missing."""

from __future__ import annotations

import pytest
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.registry import KINDS

KIND = "papers"
pytestmark = pytest.mark.skipif(KIND not in KINDS, reason="papers are not registered yet")


def test_a_folder_without_its_data_is_refused_with_what_to_give(bound, tmp_path):
    with refuses(BadInput) as caught:
        list(bound.function(tmp_path))
    assert str(tmp_path) in caught.value.where
    assert caught.value.fix
