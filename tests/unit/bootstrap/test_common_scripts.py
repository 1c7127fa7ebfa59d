"""The parts that nodes of every cloud have, run for real."""

import base64
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from gpuyard.bootstrap.payload import node_programs, stripped_python, stripped_shell

from .conftest import TEMPLATES, Machine

# --- kernel and limits


def kernel(machine: Machine, *, huge_pages: int = 0) -> None:
    machine.fake("sysctl", f'case "$*" in "-n vm.nr_hugepages") echo {huge_pages};; esac')
    machine.fake("systemctl")


def test_jobs_may_pin_memory_and_open_files_whoever_starts_them(machine: Machine) -> None:
    kernel(machine)
    assert machine.run("02-kernel.sh").returncode == 0
    etc = machine.root / "etc"
    assert "net.core.rmem_max = 268435456" in (etc / "sysctl.d/90-gpuyard.conf").read_text()
    assert "* hard memlock unlimited" in (etc / "security/limits.d/90-gpuyard.conf").read_text()
    assert "DefaultLimitMEMLOCK=infinity" in (etc / "systemd/system.conf.d/90-gpuyard.conf").read_text()
    assert machine.called("systemctl") == ["daemon-reexec"]


def test_a_second_run_finds_the_kernel_as_it_should_be(machine: Machine) -> None:
    kernel(machine)
    machine.run("02-kernel.sh")
    before = {path: path.read_bytes() for path in (machine.root / "etc").rglob("*") if path.is_file()}
    assert machine.run("02-kernel.sh").returncode == 0
    assert {path: path.read_bytes() for path in (machine.root / "etc").rglob("*") if path.is_file()} == before
    assert machine.called("systemctl") == ["daemon-reexec"], "only the first run tells systemd"


@pytest.mark.parametrize(("given", "right"), [(8192, True), (8191, False)])
def test_huge_pages_that_the_kernel_does_not_give_are_missed(machine: Machine, given: int, right: bool) -> None:
    kernel(machine, huge_pages=given)
    machine.env(GPUYARD_HUGE_PAGES_GIB="16")
    done = machine.run("02-kernel.sh")
    assert (done.returncode == 0) is right
    assert "-q -w vm.nr_hugepages=8192" in machine.called("sysctl")
    if not right:
        assert "the kernel gives 8191 huge pages of 2 MiB, 8192 were asked for" in done.stderr


# --- SSH


def test_ssh_takes_keys_only_and_is_told_once(machine: Machine) -> None:
    machine.fake("sshd")
    machine.fake("systemctl")
    assert machine.run("04-ssh.sh").returncode == 0
    assert machine.run("04-ssh.sh").returncode == 0
    config = (machine.root / "etc/ssh/sshd_config.d/00-gpuyard.conf").read_text().splitlines()
    assert {"PasswordAuthentication no", "PermitRootLogin no", "KbdInteractiveAuthentication no"} <= set(config)
    assert machine.called("systemctl") == ["try-reload-or-restart sshd.service"]


def test_a_configuration_that_ssh_refuses_does_not_reach_the_server(machine: Machine) -> None:
    machine.fake("sshd", "echo bad configuration option >&2\nexit 255")
    machine.fake("systemctl")
    assert machine.run("04-ssh.sh").returncode != 0
    assert machine.called("systemctl") == []


# --- programs of the node


def programs(machine: Machine, *, content: bytes | None = None) -> Path:
    found = node_programs()
    archive = machine.root / "programs.tar.gz"
    archive.write_bytes(found.content if content is None else content)
    for command in ("aws", "ossutil", "coscli"):
        machine.fake(command, f'for last; do :; done\ncat "{archive}" > "$last"')
    for name in ("sha256sum", "tar", "gzip"):
        (machine.bin / name).unlink(missing_ok=True)
        (machine.bin / name).symlink_to(subprocess.check_output(["which", name], text=True).strip())
    home = machine.root / "python"
    machine.environment["GPUYARD_PYTHON"] = str(home)
    machine.env(
        GPUYARD_REGION="r", GPUYARD_PROGRAMS="s3://bucket/gpuyard-node/p/1.tar.gz", GPUYARD_PROGRAMS_SHA256=found.sha256
    )
    return home


def test_programs_come_from_the_bucket_once_and_run(machine: Machine) -> None:
    home = programs(machine)
    assert machine.run("03-programs.sh").returncode == 0
    assert machine.run("03-programs.sh").returncode == 0
    assert len(machine.called("aws")) == 1
    done = subprocess.run(
        [sys.executable, "-m", "gpuyard.node", "checkpoint", "latest", str(machine.root)],
        cwd="/",
        env={"PYTHONPATH": str(home)},
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 1, "there is no checkpoint, and that is what it says"


@pytest.mark.parametrize(
    ("scheme", "command", "call"),
    [
        ("oss", "ossutil", "cp -f -c {etc}/ossutil.conf {uri} "),
        ("cos", "coscli", "cp -e cos.r.myqcloud.com -c {etc}/cos.yaml --disable-log {uri} "),
    ],
)
def test_programs_that_lie_as_text_are_the_same(machine: Machine, scheme: str, command: str, call: str) -> None:
    home = programs(machine, content=base64.b64encode(node_programs().content))
    uri = f"{scheme}://bucket/{node_programs().text_key('p')}"
    machine.env(GPUYARD_REGION="r", GPUYARD_PROGRAMS=uri, GPUYARD_PROGRAMS_SHA256=node_programs().sha256)
    done = machine.run("03-programs.sh")
    assert done.returncode == 0, done.stderr
    assert machine.run("03-programs.sh").returncode == 0
    (said,) = machine.called(command)
    assert said.startswith(call.format(etc=machine.root / "etc/gpuyard", uri=uri))
    assert (home / "gpuyard/node/__main__.py").exists()


def test_programs_with_another_sum_are_not_unpacked(machine: Machine) -> None:
    home = programs(machine, content=b"something else")
    done = machine.run("03-programs.sh")
    assert done.returncode == 1
    assert "s3://bucket/gpuyard-node/p/1.tar.gz is not what it should be" in done.stderr
    assert not home.exists()


def test_a_bucket_that_cannot_be_read_is_said_after_bounded_tries(machine: Machine) -> None:
    programs(machine)
    machine.fake("aws", "echo AccessDenied >&2\nexit 1")
    done = machine.run("03-programs.sh")
    assert done.returncode == 1
    assert "gave up: aws s3 cp" in done.stderr
    assert len(machine.called("aws")) == 5


def test_programs_are_the_same_archive_for_the_same_content() -> None:
    found = node_programs()
    assert found.sha256 == hashlib.sha256(found.content).hexdigest()
    assert found.key("train") == f"gpuyard-node/train/{found.sha256[:16]}.tar.gz"


def test_text_of_the_programs_is_the_archive_in_base64() -> None:
    found = node_programs()
    assert base64.b64decode(found.text, validate=True) == found.content
    assert found.text_key("train") == f"{found.key('train')}.b64"


def test_stripping_leaves_what_a_program_does() -> None:
    source = (
        '"""Doc."""\n# comment\nX = "# no comment"\n\n\ndef f() -> str:\n    """Only this."""\n\n\n'
        'class C:\n    """Doc."""\n\n    text = """\n# inside\n\nend"""  # behind\n'
    )
    stripped = stripped_python(source)
    assert (
        stripped
        == 'X = "# no comment"\ndef f() -> str:\n    pass\nclass C:\n    text = """\n# inside\n\nend"""  # behind\n'
    )
    before: dict[str, object] = {}
    after: dict[str, object] = {}
    exec(source, before)
    exec(stripped, after)
    assert before["C"].text == after["C"].text  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", sorted(str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.sh")))
def test_stripped_scripts_are_scripts(name: str) -> None:
    stripped = stripped_shell((TEMPLATES / name).read_text())
    done = subprocess.run(["bash", "-n"], input=stripped, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


# --- GPUs


def test_gpus_stay_initialized(machine: Machine) -> None:
    machine.fake("systemctl", 'case "$1" in is-active) exit 3;; esac')
    machine.fake("nvidia-smi")
    assert machine.run("08-gpu.sh").returncode == 0
    assert "enable --now nvidia-persistenced" in machine.called("systemctl")
    assert machine.called("nvidia-smi") == [], "clocks are left alone unless the pool asks"


def test_without_the_daemon_the_driver_is_told_so(machine: Machine) -> None:
    machine.fake("systemctl", "exit 1")
    machine.fake("nvidia-smi")
    assert machine.run("08-gpu.sh").returncode == 0
    assert machine.called("nvidia-smi") == ["-pm 1"]


def test_the_highest_clocks_are_those_that_the_gpu_names_first(machine: Machine) -> None:
    machine.env(GPUYARD_GPU_CLOCKS="highest")
    machine.fake("systemctl")
    machine.fake("nvidia-smi", 'case "$*" in *supported-clocks*) printf "1215, 1410\\n1215, 1395\\n";; esac')
    assert machine.run("08-gpu.sh").returncode == 0
    assert machine.called("nvidia-smi")[-1] == "-ac 1215,1410"


def test_clocks_that_cannot_be_set_are_a_failure(machine: Machine) -> None:
    machine.env(GPUYARD_GPU_CLOCKS="highest")
    machine.fake("systemctl")
    said = "Setting applications clocks is not supported for GPU 00000000:00:1E.0."
    machine.fake("nvidia-smi", f'case "$*" in *supported-clocks*) echo 5001, 1590;; *) echo "{said}";; esac')
    done = machine.run("08-gpu.sh")
    assert done.returncode == 1
    assert "leave 'gpu_clocks' out" in done.stderr


# --- containers


def docker(machine: Machine, *, there: bool, runtime: bool = True, configures: bool = True) -> None:
    state = machine.root / "runtime"
    if runtime:
        state.touch()
    known, unknown = '{"nvidia":{},"runc":{}}', '{"runc":{}}'
    machine.fake("docker", f"[ \"$1\" != info ] || {{ [ -e '{state}' ] && echo '{known}' || echo '{unknown}'; }}")
    machine.fake("nvidia-ctk", f'touch "{state}"' if configures else "true")
    store = machine.root / "store"
    store.mkdir()
    if not there:
        for command in ("docker", "nvidia-ctk"):
            (machine.bin / command).rename(store / command)
    toolkit = f'*toolkit*) mv "{store}/nvidia-ctk" "{machine.bin}";;'
    machine.fake("dnf", f'case "$*" in {toolkit} *docker*) mv "{store}/docker" "{machine.bin}";; esac')
    machine.fake("curl")
    machine.fake("systemctl")


def test_docker_of_the_image_is_used_as_it_is(machine: Machine) -> None:
    docker(machine, there=True)
    assert machine.run("09-containers.sh").returncode == 0
    assert (machine.called("dnf"), machine.called("curl")) == ([], [])
    assert machine.called("systemctl") == ["enable --now docker"]


def test_docker_and_the_toolkit_are_installed_where_the_image_has_none(machine: Machine) -> None:
    docker(machine, there=False, runtime=False)
    done = machine.run("09-containers.sh")
    assert done.returncode == 0, done.stderr
    assert machine.called("dnf") == ["-q -y install docker", "-q -y install nvidia-container-toolkit"]
    assert machine.called("systemctl") == ["enable --now docker", "restart docker"]


def test_a_docker_that_sees_no_gpu_is_a_failure(machine: Machine) -> None:
    docker(machine, there=True, runtime=False, configures=False)
    done = machine.run("09-containers.sh")
    assert done.returncode == 1
    assert "containers would see no GPU" in done.stderr


def test_images_are_pulled_once_and_private_ones_with_the_nodes_own_role(machine: Machine) -> None:
    private, public = "123456789012.dkr.ecr.us-east-1.amazonaws.com/llm:1", "ghcr.io/x/y:2"
    machine.env(GPUYARD_CONTAINER_IMAGES=f"'{private} {public}'")
    pulled = machine.root / "pulled"
    pulled.touch()
    machine.fake(
        "docker",
        f'case "$1" in image) grep -qx "$3" "{pulled}";; pull) echo "$3" >> "{pulled}";; login) cat > /dev/null;; esac',
    )
    machine.fake("aws", "echo password")
    assert machine.run("60-images.sh").returncode == 0
    assert machine.run("60-images.sh").returncode == 0
    calls = machine.called("docker")
    assert [call for call in calls if call.startswith("pull")] == [f"pull -q {private}", f"pull -q {public}"]
    logins = [call for call in calls if call.startswith("login")]
    assert logins == ["login --username AWS --password-stdin 123456789012.dkr.ecr.us-east-1.amazonaws.com"]
    assert machine.called("aws") == ["ecr get-login-password --region us-east-1"]


def test_an_image_that_cannot_be_pulled_fails_the_node(machine: Machine) -> None:
    machine.env(GPUYARD_CONTAINER_IMAGES="ghcr.io/x/y:2")
    machine.fake("docker", "exit 1")
    done = machine.run("60-images.sh")
    assert done.returncode == 1
    assert "gave up: docker pull -q ghcr.io/x/y:2" in done.stderr


# --- checkpoints and the watcher


def test_the_watcher_starts_and_finds_the_folder_of_checkpoints(machine: Machine) -> None:
    folder = machine.root / "checkpoints"
    machine.env(GPUYARD_CHECKPOINT_DIR=str(folder))
    machine.fake("systemctl")
    assert machine.run("70-watch.sh").returncode == 0
    assert folder.stat().st_mode & 0o7777 == 0o1777, "jobs of any user write there"
    assert machine.run("70-watch.sh").returncode == 0
    assert machine.called("systemctl") == ["enable --now gpuyard-watcher.service"] * 2


def test_a_folder_of_checkpoints_is_not_made_where_its_file_system_is_not(machine: Machine) -> None:
    machine.env(GPUYARD_CHECKPOINT_DIR=str(machine.root / "fsx" / "checkpoints"))
    machine.fake("systemctl")
    assert machine.run("70-watch.sh").returncode != 0
    assert machine.called("systemctl") == []


# --- JupyterLab


def test_jupyter_listens_on_the_loopback_address_with_a_token_of_the_node(machine: Machine) -> None:
    home = machine.root / "jupyter"
    machine.environment["GPUYARD_JUPYTER"] = str(home)
    machine.fake("id", "exit 1")
    machine.fake("useradd")
    machine.fake("systemctl")
    machine.fake(
        "python3",
        f'mkdir -p "{home}/bin"\nprintf "#!{machine.bin}/bash\\n" > "{home}/bin/pip"\nchmod +x "{home}/bin/pip"',
    )
    done = machine.run("55-jupyter.sh")
    assert done.returncode == 0, done.stderr
    unit = (machine.root / "units/gpuyard-jupyter.service").read_text()
    assert "--ip=127.0.0.1" in unit
    assert "User=gpuyard-jupyter" in unit
    assert "JUPYTER_TOKEN=$(cat /run/gpuyard-jupyter/token)" in unit
    assert "RuntimeDirectoryMode=0700" in unit
    assert machine.called("systemctl") == ["daemon-reload", "enable --now gpuyard-jupyter.service"]
    (drawn,) = [line for line in unit.splitlines() if line.startswith("ExecStartPre=")]
    # systemd takes one backslash away of two, as the shell does in a here-document.
    command = (
        drawn.split("'")[1].replace("\\\\", "\\").replace("/run/gpuyard-jupyter/token", str(machine.root / "token"))
    )
    subprocess.run(["/bin/sh", "-c", command], check=True)
    assert len((machine.root / "token").read_text()) == 64


def test_jobs_of_a_shell_know_what_the_node_is_part_of(machine: Machine) -> None:
    env = machine.root / "node.env"
    env.write_text("GPUYARD_CHECKPOINT_URI=s3://b/checkpoints\n")
    text = (TEMPLATES / "profile.sh").read_text().replace("/etc/gpuyard/node.env", str(env))
    done = subprocess.run(["sh", "-c", f"{text}\nenv"], capture_output=True, text=True)
    assert "GPUYARD_CHECKPOINT_URI=s3://b/checkpoints" in done.stdout


# --- EFA


def efa(machine: Machine, *, there: bool, devices: bool = True, right_sum: bool = True) -> None:
    info = machine.root / "fi_info"
    body = f"#!{machine.bin}/bash\nexit {0 if devices else 1}\n"
    if there:
        info.write_text(body)
        info.chmod(0o755)
    machine.environment["GPUYARD_FI_INFO"] = str(info)
    machine.env(GPUYARD_EFA_VERSION="1.41.0", GPUYARD_EFA_SHA256="0" * 64)
    machine.fake("curl")
    machine.fake("sha256sum", f"cat > /dev/null\nexit {0 if right_sum else 1}")
    installer = f"#!{machine.bin}/bash\\nprintf '{body.encode().decode()}' > {info}\\nchmod +x {info}\\n".replace(
        "\n", "\\n"
    )
    machine.fake(
        "tar",
        f'mkdir -p "$4/aws-efa-installer"\nprintf "{installer}" > "$4/aws-efa-installer/efa_installer.sh"\n'
        'chmod +x "$4/aws-efa-installer/efa_installer.sh"',
    )
    machine.fake("modprobe")


def test_efa_of_the_image_is_used(machine: Machine) -> None:
    efa(machine, there=True)
    assert machine.run("aws/07-efa.sh").returncode == 0
    assert machine.called("curl") == []


def test_efa_is_installed_from_aws_in_a_version_whose_sum_is_known(machine: Machine) -> None:
    efa(machine, there=False)
    done = machine.run("aws/07-efa.sh")
    assert done.returncode == 0, done.stderr
    (call,) = machine.called("curl")
    assert call.endswith("https://efa-installer.amazonaws.com/aws-efa-installer-1.41.0.tar.gz")


def test_an_installer_with_another_sum_is_not_run(machine: Machine) -> None:
    efa(machine, there=False, right_sum=False)
    done = machine.run("aws/07-efa.sh")
    assert done.returncode == 1
    assert "is not the file that it should be" in done.stderr
    assert machine.called("tar") == []


def test_a_machine_without_efa_devices_is_not_ready(machine: Machine) -> None:
    efa(machine, there=True, devices=False)
    done = machine.run("aws/07-efa.sh")
    assert done.returncode == 1
    assert "libfabric finds no EFA device" in done.stderr
