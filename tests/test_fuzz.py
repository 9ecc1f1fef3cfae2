from __future__ import annotations

import pytest

from fuzz import corpus, session
from fuzz.__main__ import main
from fuzz.case import Case
from fuzz.generate import generate, generate_for_readers
from fuzz.readers import READERS, SPELLINGS
from fuzz.runner import Worker
from fuzz.session import Session, numbers
from fuzz.tally import Tally
from fuzz.verdict import Outcome, failure

INPUTS = 120
"""The first of those that `make verify` runs."""
READ = 1500
"""Inputs of single readers."""


def test_no_input_ends_in_a_traceback_a_hang_or_too_much_memory(tmp_path):
    found = Session(seed=1, folder=tmp_path)
    found.run(numbers(0, INPUTS), workers=2, stop=lambda: False)
    assert not found.failures, found.summary()
    assert sum(found.outcomes.values()) == INPUTS
    # Were all inputs refused, nothing behind the readers would be reached.
    assert found.outcomes["answered"] > INPUTS / 10


def test_no_reader_fails_on_a_damaged_file_and_each_reads_some(tmp_path):
    found = Session(seed=1, folder=tmp_path, readers=True)
    found.run(numbers(0, READ), workers=1, stop=lambda: False)
    assert not found.failures, found.summary()
    counts = found.tally.counts
    for name in (*READERS, *(f"spelling: {name}" for name in SPELLINGS)):
        assert counts[name, "accepted"] > 0, name
    refusing = {kind for kind, outcome in counts if outcome != "accepted"}
    assert refusing >= {*READERS} - {"batch script"}
    assert 0 < found.tally.memory < 2**31


@pytest.fixture(scope="module")
def worker():
    found = Worker(longest=60.0, warm=False)
    yield found
    found.stop()


@pytest.fixture(scope="module")
def impatient():
    """A worker in which nothing may take long, for inputs that never end."""
    found = Worker(longest=2.0, warm=False)
    yield found
    found.stop()


def caught(worker: Worker, call: str, *, heavy: bool = False) -> str | None:
    case = Case("call", call=call, heavy=heavy)
    return failure(case, worker.run(case))


def test_a_planted_traceback_is_caught(worker):
    found = caught(worker, "SpeedUp.from_times(1 / 0 for _ in [1])")
    assert found.startswith("traceback: ZeroDivisionError in moldable/checks.py:")


def test_an_error_of_another_library_is_caught_in_a_reader(worker):
    case = Case("a reader", call="int('x')")
    assert failure(case, worker.run(case)) == "traceback: ValueError in a library"


def test_a_refusal_with_an_error_of_the_library_is_no_failure(worker):
    assert caught(worker, "SpeedUp([])") is None


def test_a_planted_hang_is_caught(impatient):
    assert caught(impatient, "__import__('time').sleep(60)") == "hang (call)"


def test_work_that_ends_when_interrupted_is_no_failure(worker):
    assert caught(worker, "__import__('time').sleep(60)", heavy=True) is None


def test_work_that_ignores_an_interrupt_is_caught(impatient):
    call = "(__import__('signal').pthread_sigmask(0, [2]), __import__('time').sleep(60))"
    assert caught(impatient, call, heavy=True) == "hang after an interrupt (call)"


def test_a_thread_that_goes_on_after_the_command_is_caught(impatient):
    call = "__import__('threading').Timer(60, print).start()"
    assert caught(impatient, call) == "hang (call)"


def test_more_than_two_gigabytes_are_caught(worker):
    call = "SpeedUp.from_times(np.ones(2**28 + 2**20) for _ in [1])"
    assert "MemoryError in moldable/checks.py" in caught(worker, call)
    assert caught(worker, "np.ones(2**24).sum()") is None


def test_another_exit_code_is_caught(worker):
    assert caught(worker, "__import__('sys').exit(3)") == "exit code 3"


def test_a_process_that_dies_is_caught(worker):
    call = "__import__('os').kill(__import__('os').getpid(), 11)"
    assert caught(worker, call) == "the process died with code -11"


def test_a_python_warning_is_caught_each_time(worker):
    for _ in range(2):
        assert caught(worker, "np.mean([])").startswith("Python warning: RuntimeWarning")


@pytest.mark.parametrize(
    ("arguments", "outcome", "cause"),
    [
        (["optimum"], Outcome(2, stderr="bad name \x1b[31m"), "control character printed (x)"),
        (["optimum"], Outcome(2, stderr="x", length=10**5), "message over 10000 bytes (x)"),
        (["optimum"], Outcome(2), "refused without a message"),
        (["optimum", "--json"], Outcome(0, stdout='{"a": NaN}'), "--json printed invalid JSON"),
        (["optimum", "--json"], Outcome(0, stdout='{"a": 1}'), None),
        (["optimum"], Outcome(130), "exit code 130"),
    ],
)
def test_printed_output_is_checked(arguments, outcome, cause):
    assert failure(Case("x", tuple(arguments)), outcome) == cause


def test_an_input_is_the_same_whenever_it_is_made_and_survives_being_saved(monkeypatch):
    monkeypatch.setattr(corpus, "finished_run", lambda: {"run/manifest.json": b"{}", "x": b"{}"})
    for number in range(300):
        case = generate(7, number)
        assert case == generate(7, number)
        assert Case.from_json(case.to_json()) == case
        case = generate_for_readers(7, number)
        assert case == generate_for_readers(7, number)
        assert Case.from_json(case.to_json()) == case


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    whole, parts = Tally(3), tmp_path / "state.json"
    outcomes = [(f"reader {k % 3}", ("accepted", "InputError")[k % 2]) for k in range(40)]
    for number, (kind, outcome) in enumerate(outcomes):
        whole.add(number, kind, outcome, 0.1, number)
    first = Tally.read(parts, 3)
    for number in (0, 1, 2, 4, 7):  # two processes: those between were interrupted
        first.add(number, *outcomes[number], 0.1, number)
    first.add(5, outcomes[5][0], "failed", 0.1, 5)
    first.write(parts)
    second = Tally.read(parts, 3)
    left = list(second.left(numbers(0, 40)))
    assert left == [5, 3, 6, *range(8, 40)]  # the one that failed is run again
    for number in left:
        second.add(number, *outcomes[number], 0.1, number)
    assert +second.counts == whole.counts
    assert (second.following, second.ahead, second.failures) == (40, set(), {})
    assert "| reader 1 | 13 | 6 | InputError 7 | 0 |" in second.table()
    with pytest.raises(SystemExit, match="is of seed 3"):
        Tally.read(parts, 4)


def test_a_failing_input_is_saved_with_its_command(tmp_path, monkeypatch, capsys):
    planted = Case("call", call="SpeedUp.from_times(1 / 0 for _ in [1])", files={"a/b": b"c"})
    monkeypatch.setattr(session, "generate", lambda _seed, _number: planted)
    found = Session(seed=5, folder=tmp_path, report=lambda _text: None)
    found.run(numbers(3, 1), workers=1, stop=lambda: False)
    assert [cause.split()[1] for cause in found.failures] == ["ZeroDivisionError"]
    report = (tmp_path / "5-3" / "report.txt").read_text()
    command = next(line for line in report.splitlines() if line.startswith("Under")).split(": ")[1]
    assert main(command.split()[3:]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().out
    assert (tmp_path / "5-3" / "files" / "a" / "b").read_bytes() == b"c"
