"""Measured sizes, from arrays and from files."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import SizeLaw, read_scenario
from moldable.errors import InputError, SizeLawError
from moldable.model.sizes import Empirical


def write(folder, text, name="sizes.csv"):
    path = folder / name
    path.write_text(text)
    return path


def test_measured_sizes_are_scaled_to_mean_one():
    law = Empirical([30.0, 10.0, 20.0])
    assert law.sizes.tolist() == [0.5, 1.0, 1.5]
    assert law.parameters == (0.5, 1.0, 1.5)
    assert law.variance == pytest.approx(1 / 6)
    assert law.cdf([0.49, 0.5, 1.0, 2.0]).tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert law == Empirical(x / 10 for x in (10.0, 20.0, 30.0))
    assert repr(law) == "Empirical(3 sizes)"
    assert str(law) == "empirical law of 3 sizes"
    with pytest.raises(ValueError, match="read-only"):
        law.sizes[0] = 1.0


def test_the_largest_numbers_do_not_overflow():
    assert Empirical([1e308, 1e308]).sizes.tolist() == [1.0, 1.0]


def test_a_random_moment_meets_sizes_in_proportion_to_their_work():
    law = Empirical([1.0, 3.0])
    residual = law.sample_residual(np.random.default_rng(1), 100_000)
    # Beyond 0.5 only the larger size is left: it brings 3/4 of the work, 2/3 of it beyond 0.5.
    error = np.sqrt(0.25 / 100_000)
    assert abs(np.mean(residual > 0.5) - 0.5) < 4 * error
    assert residual.max() < 1.5


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([], "at least one size"),
        ([[1.0, 2.0]], r"in one list; got shape \(1, 2\)"),
        ([1.0, 0.0], "size number 2 is 0; sizes must be finite and above 0: leave out"),
        ([1.0, float("nan")], "size number 2 is nan"),
        (["a"], "must be a list of numbers"),
        (3.0, "sizes is of type float, which is not a list; pass"),
    ],
)
def test_impossible_sizes_are_refused(sizes, message):
    with pytest.raises(SizeLawError, match=message):
        Empirical(sizes)


@pytest.mark.parametrize(
    "text",
    [
        "size\n1\n3\n",
        "1\n3",
        "\ufeff# minutes\nSize\n\n3 # the long one\n1\n",
        '"size"\r\n1\r\n3e0\r\n',
    ],
)
def test_files_of_sizes_are_read(tmp_path, text):
    write(tmp_path, text)
    law = SizeLaw.parse("sizes.csv", tmp_path)
    assert law == Empirical([1.0, 3.0])
    assert str(law) == "sizes.csv"
    assert SizeLaw.parse(str(law), tmp_path) == law
    assert repr(law) == "Empirical(2 sizes from 'sizes.csv')"
    assert str(Empirical.read(tmp_path / "sizes.csv")) == str(tmp_path / "sizes.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no size in the file"),
        ("# none\nsize\n", "there is no size in the file"),
        ("size\n1\n2,3\n", "line 3: several columns '2,3'; keep only"),
        ("time\n1\n", "line 1: the size is not a number; .* optional header size"),
        ("1\nsize\n", "line 2: the size is not a number"),
        ("size\n1\n0\n", "line 3: size 0 must be finite and above 0; leave out"),
        ("1\n1.2.3\n", "line 2: the size '1.2.3' is not a number"),
        ("inf\n", "line 1: size inf must be finite"),
    ],
)
def test_faulty_files_are_explained_with_their_line(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(InputError, match=message) as caught:
        SizeLaw.parse("sizes.csv", tmp_path)
    assert str(path) in str(caught.value)


def test_unreadable_files_are_explained(tmp_path):
    with pytest.raises(InputError, match=r"missing\.csv cannot be read: no such file"):
        SizeLaw.parse("missing.csv", tmp_path)
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="byte 0 is not UTF-8"):
        SizeLaw.parse("binary.csv", tmp_path)


def test_workload_files_name_sizes_relative_to_themselves(tmp_path):
    write(tmp_path, "1\n3\n")
    toml = "servers = 4\n[[class]]\narrival_rate = 1\nspeedup = [1]\nsize = 'sizes.csv'\n"
    file = read_scenario(write(tmp_path, toml, "cluster.toml"))
    assert file.workload.classes[0].size == Empirical([1.0, 3.0])
