"""What `python -m build` packs: three distributions from one source tree."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import ldpsql
from ldpsql.server.page_files import page_files

ROOT = Path(__file__).parents[2]
BUILD = """
import sys
from hatchling import build
print(build.build_wheel(sys.argv[1]))
if len(sys.argv) > 2:
    build.build_sdist(sys.argv[1])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Of the wheels, and of the library's archive of sources."""
    return tmp_path_factory.mktemp("wheels")


@pytest.fixture(scope="module")
def wheels(folder):
    """The wheels, as zip files: the library's, the device's and the lab's."""
    if not (ROOT / "lab" / "ldpsql_lab").exists():
        pytest.skip("an sdist does not have the sources of all distributions")
    opened = []
    for source in (ROOT, ROOT / "device", ROOT / "lab"):
        command = [sys.executable, "-c", BUILD, str(folder)]
        if source == ROOT:
            command.append("and its sources")
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
        done = subprocess.run(
            command, cwd=source, capture_output=True, text=True, check=True, env=environment
        )
        opened.append(zipfile.ZipFile(folder / done.stdout.split()[-1]))
    yield opened
    for wheel in opened:
        wheel.close()


def metadata(wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def test_nothing_is_installed_twice(wheels):
    library, device, lab = (set(wheel.namelist()) for wheel in wheels)
    assert not library & device
    assert not lab & (library | device)
    assert {name.split("/")[0] for name in library} == {
        "ldpsql",
        f"ldpsql-{ldpsql.__version__}.dist-info",
    }
    sources = {f"ldpsql_device/{p.name}" for p in (ROOT / "src" / "ldpsql_device").glob("*.py")}
    packed = {name for name in device if not name.startswith("ldpsql_device-")}
    assert packed == sources | {"ldpsql_device/py.typed"}
    assert {name.split("/")[0] for name in lab} == {
        "ldpsql_lab",
        f"ldpsql_lab-{ldpsql.__version__}.dist-info",
    }


def test_the_library_needs_the_device_of_its_own_version(wheels):
    library, device, lab = map(metadata, wheels)
    assert library["Version"] == device["Version"] == lab["Version"] == ldpsql.__version__
    assert f"ldpsql[serve]=={library['Version']}" in lab.get_all("Requires-Dist")
    assert f"ldpsql-lab=={lab['Version']}; extra == 'all'" in library.get_all("Requires-Dist")
    needed = library.get_all("Requires-Dist")
    assert f"ldpsql-device=={device['Version']}" in needed
    assert [each for each in device.get_all("Requires-Dist") if "extra" not in each] == [
        "numpy>=2.0"
    ]


def test_what_is_not_python_is_packed_as_well(wheels, folder):
    """The page whole, with the client, in the archive of sources too, which holds no links."""
    library, device, _ = (set(wheel.namelist()) for wheel in wheels)
    [archive] = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        sources = {name.partition("/")[2] for name in file.getnames()}
        assert not [member.name for member in file.getmembers() if member.issym()]
    for address, own in page_files().items():
        name = "index.html" if address == "/" else address.removeprefix("/")
        assert wheels[0].read(f"ldpsql/server/page/{name}") == own.content
        assert f"src/ldpsql/server/page/{name}" in sources
    assert "lab/pyproject.toml" in sources
    for package in ("ldpsql", "ldpsql_device", "ldpsql_lab", "../tests", "../tools"):
        folder = (ROOT / "src" / package).resolve()
        own = {path.relative_to(ROOT).as_posix() for path in folder.rglob("*.py")}
        assert not own - sources, "what the archive's tests import"
    page = (ROOT / "src" / "ldpsql" / "server" / "page").rglob("*")
    files = [path for path in page if path.is_file() and "__pycache__" not in path.parts]
    assert {path.relative_to(ROOT / "src").as_posix() for path in files} <= library
    assert "ldpsql/server/openapi.json" in library
    assert any(name.endswith("licenses/LICENSE") for name in library)
    assert any(name.endswith("vendor/LICENSES.txt") and ".dist-info" in name for name in library)
    assert any(name.endswith("licenses/LICENSE") for name in device)


def test_versions_agree():
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    device = tomllib.loads((ROOT / "device" / "pyproject.toml").read_text())["project"]
    lab = tomllib.loads((ROOT / "lab" / "pyproject.toml").read_text())["project"]
    assert package["version"] == device["version"] == lab["version"] == ldpsql.__version__
    assert f"## [{package['version']}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert package["requires-python"] == device["requires-python"] == lab["requires-python"]
