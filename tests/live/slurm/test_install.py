"""What `moldable slurm install` writes: nothing is replaced or injected."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from live.slurm.job_submit_lua import installation, lua
from moldable.errors import InputError
from moldable.live.slurm.install import write_installation
from moldable.live.slurm.installed_files import installed_files, lua_text

NAMES = ["README.md", "job_submit.lua", "moldable-agent.service", "task_prolog.sh"]
NASTY = [
    "a b",
    "quote\"d' `id` $(id) $HOME ${HOME}",
    "back\\slash \\n \\",
    "%n %% %H 100%",
    "$$ $",
    "@{heartbeat} @@ @",
    "]] --[[ ]=]",
    '"; os.execute("id") --',
    "ünï ☃ 漢",
    "".join(map(chr, range(32, 127))).replace("/", ""),
]


def test_files_have_their_modes_and_are_written_again(tmp_path):
    found = installation(tmp_path / "moldable")
    files = write_installation(found)
    assert (
        sorted(path.name for path in files)
        == NAMES
        == sorted(path.name for path in found.folder.iterdir())
    )
    modes = {path.name: path.stat().st_mode & 0o777 for path in files}
    assert modes.pop("task_prolog.sh") == 0o755
    assert set(modes.values()) == {0o644}
    script = found.folder / "job_submit.lua"
    os.utime(script, (1000, 1000))
    write_installation(replace(found, mode="enforce"))
    assert script.stat().st_mtime == 1000  # otherwise Slurm would load it again
    unit = (found.folder / "moldable-agent.service").read_text()
    assert "--mode enforce" in unit
    assert sorted(path.name for path in found.folder.iterdir()) == NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["foreign", "empty", "changed", "longer", "link", "folder"])
def test_foreign_and_changed_files_are_kept_and_nothing_else_is_written(tmp_path, name, kind):
    found = installation(tmp_path / "moldable")
    path = found.folder / name
    write_installation(found)
    content = path.read_bytes()
    path.unlink()
    if kind == "link":
        (tmp_path / "elsewhere").write_bytes(content)
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "folder":
        path.mkdir()
    else:
        texts = {"foreign": b"return slurm.SUCCESS\n", "empty": b"", "longer": content + b"x\n"}
        path.write_bytes(texts.get(kind, content.replace(b"moldable", b"Moldable", 1)))
    before = {p.name: p.read_bytes() for p in found.folder.iterdir() if p.is_file()}
    with pytest.raises(InputError, match=name):
        write_installation(replace(found, mode="enforce", run_folder=Path("/run/other")))
    assert {p.name: p.read_bytes() for p in found.folder.iterdir() if p.is_file()} == before


def test_paths_reach_lua_as_they_are(tmp_path):
    path = tmp_path / "test.lua"
    path.write_text(f"for _, s in ipairs({{{', '.join(map(lua_text, NASTY))}}}) do print(s) end\n")
    found = subprocess.run([lua(), path], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == NASTY


@pytest.mark.parametrize("name", NASTY)
def test_paths_reach_the_agent_as_they_are(tmp_path, name):
    folder = Path("/opt/moldable") / name
    found = installation(
        tmp_path, plan=folder / "plan.json", run_folder=folder, journal=folder / "j"
    )
    unit = installed_files(found)["moldable-agent.service"].decode()
    lines = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line)
    # In unit files double quotes protect as in a shell, and % and $ are doubled.
    words = shlex.split(lines["ExecStart"].replace("%%", "%").replace("$$", "$"))
    assert words == found.command
    assert shlex.split(lines["Environment"].replace("%%", "%"))[1] == f"XDG_RUNTIME_DIR={folder}"
    assert shlex.split(lines["ReadWritePaths"].replace("%%", "%")) == [str(folder)]


@pytest.mark.parametrize("name", ["plain", NASTY[0], NASTY[-1].replace("%", "")])
def test_systemd_accepts_the_unit(tmp_path, name):
    program = shutil.which("systemd-analyze")
    if program is None and os.environ.get("CI"):
        pytest.fail("systemd-analyze is not installed")
    if program is None:
        pytest.skip("systemd-analyze is not installed; install it with: make engines")
    found = installation(tmp_path, plan=Path("/opt") / name / "plan.json")
    path = tmp_path / "moldable-agent.service"
    path.write_bytes(installed_files(found)["moldable-agent.service"])
    result = subprocess.run([program, "verify", path], capture_output=True, text=True, check=False)
    about = [line for line in result.stderr.splitlines() if "moldable-agent" in line]
    assert (result.returncode, about) == (0, [])
    # A unit with an error would have been found.
    path.write_text(path.read_text().replace("Restart=always", "Restart=sometimes"))
    result = subprocess.run([program, "verify", path], capture_output=True, text=True, check=False)
    assert "sometimes" in result.stderr


def test_folders_of_the_system_are_left_to_systemd(tmp_path):
    usual = installation(
        tmp_path, run_folder=Path("/run/moldable"), journal=Path("/var/lib/moldable/d.jsonl")
    )
    unit = installed_files(usual)["moldable-agent.service"].decode()
    for line in ("RuntimeDirectory=moldable", "StateDirectory=moldable", "StateDirectoryMode=0700"):
        assert f"\n{line}\n" in unit
    assert "ReadWritePaths" not in unit


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"plan": Path("/a\nExecStartPre=/bin/id")}, "control characters"),
        ({"run_folder": Path("/a\x1b[31m")}, "control characters"),
        ({"plan": Path("relative.json")}, "absolute"),
        ({"folder": Path("/etc/with space")}, "slurm.conf"),
        ({"folder": Path('/etc/"quoted"')}, "slurm.conf"),
        ({"cluster": "a b"}, "cluster"),
        ({"partition": "x\ny"}, "partition"),
        ({"account": "root\nExecStartPre=/bin/id"}, "not the name of an account"),
        ({"account": "nosuchaccount"}, "no account nosuchaccount"),
    ],
)
def test_names_that_cannot_be_quoted_are_refused(tmp_path, others, message):
    with pytest.raises(InputError, match=message):
        write_installation(replace(installation(tmp_path / "new"), **others))
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("which", ["folder", "run_folder"])
def test_folders_that_other_users_could_write_are_refused(tmp_path, which):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    found = replace(installation(tmp_path / "new"), **{which: shared / "moldable"})
    with pytest.raises(InputError, match="can be written by every user"):
        write_installation(found)
    assert not list(shared.iterdir())
    shared.chmod(0o755)
    write_installation(found)


def test_a_folder_with_a_name_that_is_too_long_is_an_error(tmp_path):
    with pytest.raises(InputError, match="cannot be used: file name too long; choose another DIR"):
        write_installation(installation(tmp_path / ("x" * 300)))


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be created"):
        write_installation(installation(tmp_path / "file" / "moldable"))


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ""),
        ({"SLURM_TASKS_PER_NODE": "4"}, ""),
        (
            {"MOLDABLE_SHAPE": "tasks", "SLURM_TASKS_PER_NODE": "1(x4),2", "SLURM_NTASKS": "1"},
            "MOLDABLE_WIDTH=6 SLURM_NTASKS=6 SLURM_NPROCS=6",
        ),
        (
            {"MOLDABLE_SHAPE": "threads", "SLURM_CPUS_PER_TASK": "8"},
            "MOLDABLE_WIDTH=8 OMP_NUM_THREADS=8",
        ),
        ({"MOLDABLE_SHAPE": "nodes", "SLURM_JOB_NUM_NODES": "3"}, "MOLDABLE_WIDTH=3"),
        ({"MOLDABLE_SHAPE": "gpus", "SLURM_GPUS_ON_NODE": "2"}, "MOLDABLE_WIDTH=2"),
        ({"MOLDABLE_SHAPE": "tasks", "SLURM_TASKS_PER_NODE": "4", "SLURM_STEP_ID": "0"}, ""),
        ({"MOLDABLE_SHAPE": "$(touch injected)"}, ""),
        ({"MOLDABLE_SHAPE": "nodes", "SLURM_JOB_NUM_NODES": "$(touch injected)"}, None),
    ],
)
def test_the_task_prolog_tells_marked_jobs_their_width(tmp_path, variables, expected):
    path = tmp_path / "task_prolog.sh"
    path.write_bytes(installed_files(installation(tmp_path))["task_prolog.sh"])
    path.chmod(0o755)
    environment = {"PATH": os.environ["PATH"], **variables}
    found = subprocess.run(
        [path], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert found.stderr == ""
    if expected is not None:
        assert found.stdout.splitlines() == [f"export {pair}" for pair in expected.split()]
    assert not (tmp_path / "injected").exists()
