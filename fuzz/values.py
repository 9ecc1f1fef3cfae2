"""Values that often break programs."""

from __future__ import annotations

from typing import Final

NUMBERS: Final = (
    *("0", "-0", "-0.0", "-1", "1", "2", "0.5", "1e308", "1.7976931348623157e308", "-1e308"),
    *("1e-320", "5e-324", "1e-300", "1e-12", "1e-6", "0.9999999999999999", "1.0000000000000002"),
    *("nan", "-nan", "NaN", "inf", "-inf", "Infinity", "1e400", "-1e400", "1e15", "1e9", "1e6"),
    *("2147483647", "2147483648", "4294967296", "9007199254740993", "9223372036854775807"),
    *("9223372036854775808", "18446744073709551616", "9" * 30, "9" * 400, "9" * 5000),
    *(
        "0x10",
        "0b1",
        "0o7",
        "1_000",
        "_1",
        "1.",
        ".5",
        "1e",
        "e5",
        "+3",
        "--1",
        "1,5",
        "1/3",
        "1/0",
    ),
    *("\uff11\uff12", "\u0663", "\u00bd", "\u00b2", "1\u00a0000", "true", "null", "None", ""),
    *(" 1", "1 ", "1\t", "1\n", "1;2", "1e3", "100000", "1000000", "1979-05-27", "07:32:00"),
)
PLAIN: Final = ("0.1", "0.3", "1.5", "3", "4", "7", "10", "30", "0.01", "1e-3", "2.5e0")
"""Numbers that are valid in most places."""

TEXTS: Final = (
    *("", " ", "\t", "\n", "\r\n", "\ufeff", "\u200b", "\u2028", "\u0085", "\u202egnol"),
    *("\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x9b31m", "\x08\x08\x08", "\x7f", "\x01"),
    *("a" * 100_000, "\u00e9" * 300, "\U0001f642" * 40, "%s%n%d", "$(id)", "`id`", "'", '"', "\\"),
    *("[bold]x[/bold]", "[/]", ":smile:", "{}", "[]", "{x}", "null", "../../..", "a\rb", "a\nb"),
    *(
        "[" * 3000,
        "[" * 3000 + "]" * 3000,
        '{"a":' * 3000,
        "a." * 20_000 + "a",
        "=",
        ",",
        ":",
        "::",
    ),
)
NUL: Final = ("\0", "a\0b")
"""Text that is allowed in a file but not on a command line."""

BYTES: Final = (
    b"\xff",
    b"\xfe\xff",
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b"\xf4\x90\x80\x80",
    b"\0",
    b"\x1a",
)
"""Bytes that are not UTF-8 text, among them an encoded surrogate."""

PATHS: Final = (
    *("missing", ".", "..", "/", "", "/dev/null", "/dev/zero", "/dev/random", "/dev/stdin"),
    *("/dev/full", "/etc/passwd", "/proc/self/environ", "/proc/self/mem", "/proc/self/fd/0"),
    *(
        "fifo",
        "fifo",
        "folder",
        "loop",
        "zero",
        "a" * 300,
        "x/" * 3000,
        "\udcff",
        "~",
        "-",
        "//x",
        "x\ny",
    ),
)

ODD: Final = (
    *("None", "True", "False", "''", "'x'", "'1'", "b'1'", "object()", "[]", "()", "{}", "set()"),
    *("nan", "inf", "-inf", "0", "-1", "-0.0", "1e308", "1e-320", "10**400", "-10**400", "2**63"),
    *("2**64", "1j", "Decimal('1')", "Decimal('nan')", "Fraction(1, 3)", "np.float32(0.5)"),
    *("np.int8(3)", "np.uint64(2**63)", "np.bool_(True)", "np.float64('nan')", "np.array(3)"),
    *(
        "np.array([])",
        "np.array([[1.0, 2.0], [3.0, 4.0]])",
        "np.array(['a', 'b'])",
        "[[1], [2, 3]]",
    ),
    *("np.array([1, None], dtype=object)", "[nan]", "[inf, 1]", "['1', '2']", "[None]", "[1, [2]]"),
    *("{1: None}", "{'a': 1}", "{1.5: 1}", "{(1, 2): 3}", "{1: {2: 3}}", "{None: 1}", "range(0)"),
    *("range(3)", "iter([1, 2])", "(x for x in [1, 2])", "lambda *a: 1", "float", "int", "Greedy"),
    *("Greedy()", "Exponential()", "SpeedUp([1])", "Poisson()", "np", "np.datetime64('2020')"),
    *("np.ma.masked", "memoryview(b'12')", "'\\x1b[31m'", "'\\0'", "'a' * 100000", "...", "1.5"),
)
"""Python expressions that have the wrong type or range for some arguments."""
