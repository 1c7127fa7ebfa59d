"""A stack's resources from its program: as a first preview shows them, without an engine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpuyard.sandbox.workspace import read_project
from gpuyard.spec.problems import SpecError
from gpuyard_policy.facts import Record, Unknown
from gpuyard_policy.sources import Place
from gpuyard_policy.sources.in_process import run_stack, stack_config
from gpuyard_policy.sources.values import LATER, STAND_IN
from tests.policy.programs import run_program, write_project

REPOSITORY = Path(__file__).parents[2]
ELSEWHERE = "comes from what only the account or the stack's own backend can tell"


def records(folder: Path, program: str, stacks: dict[str, str] | None = None) -> dict[str, Record]:
    return {one.name: one for one in run_program(write_project(folder, program, stacks)).records}


def problem(folder: Path, program: str, settings: str = "name: trial\nruntime: python\n") -> str:
    with pytest.raises(SpecError) as raised:
        run_program(write_project(folder, program, settings=settings))
    return str(raised.value)


def test_ids_are_unknown_references_are_kept_and_each_resource_knows_its_provider(tmp_path: Path) -> None:
    found = records(
        tmp_path,
        """
        import pulumi, pulumi_aws as aws
        west = aws.Provider("west", region="us-west-2")
        network = aws.ec2.Vpc("network", cidr_block="10.0.0.0/16", opts=pulumi.ResourceOptions(protect=True))
        aws.ec2.Subnet("inner", vpc_id=network.id, cidr_block="10.0.0.0/24")
        aws.ec2.Eip("away", opts=pulumi.ResourceOptions(provider=west))
        """,
    )
    assert found["inner"].props == {
        "vpcId": Unknown("'vpcId' is known only after the update"),
        "cidrBlock": "10.0.0.0/24",
    }
    assert found["inner"].depends_on["vpcId"] == (found["network"].urn,)
    assert found["network"].urn == "urn:pulumi:dev::trial::aws:ec2/vpc:Vpc::network"
    assert (found["network"].protect, found["inner"].protect) == (True, False)
    assert found["inner"].provider == {"region": "us-east-1"}
    assert found["away"].provider["region"] == "us-west-2"


def test_children_of_a_component_have_the_urns_and_the_protection_that_the_engine_gives_them(tmp_path: Path) -> None:
    found = records(
        tmp_path,
        """
        import pulumi, pulumi_aws as aws
        class Part(pulumi.ComponentResource):
            def __init__(self, name, opts=None):
                super().__init__("own:index:Part", name, {}, opts)
                aws.s3.Bucket(f"{name}-data", opts=pulumi.ResourceOptions(parent=self))
        class Whole(pulumi.ComponentResource):
            def __init__(self, name, opts=None):
                super().__init__("own:index:Whole", name, {}, opts)
                Part(f"{name}-part", pulumi.ResourceOptions(parent=self))
        Whole("w", pulumi.ResourceOptions(protect=True))
        """,
    )
    bucket = found["w-part-data"]
    assert bucket.urn == "urn:pulumi:dev::trial::own:index:Whole$own:index:Part$aws:s3/bucket:Bucket::w-part-data"
    assert bucket.protect is True


def test_transforms_run_the_resources_own_first_then_its_parents_then_the_stacks(tmp_path: Path) -> None:
    found = records(
        tmp_path,
        """
        import pulumi, pulumi_aws as aws
        def adds(word):
            def transform(args):
                if not args.type_.startswith("aws:"):
                    return None
                tags = dict(args.props.get("tags") or {})
                tags[word] = str(len(tags))
                options = pulumi.ResourceOptions.merge(args.opts, pulumi.ResourceOptions(protect=word == "stack"))
                return pulumi.ResourceTransformResult({**args.props, "tags": tags}, options)
            return transform
        pulumi.runtime.register_resource_transform(adds("stack"))
        above = pulumi.ResourceOptions(transforms=[adds("parent")])
        parent = pulumi.ComponentResource("own:index:Part", "part", {}, above)
        aws.s3.Bucket("data", opts=pulumi.ResourceOptions(parent=parent, transforms=[adds("own")]))
        """,
    )
    assert found["data"].props["tags"] == {"own": "0", "parent": "1", "stack": "2"}
    assert found["data"].protect is True


def test_what_only_an_account_can_tell_stays_unknown_wherever_it_goes(tmp_path: Path) -> None:
    found = records(
        tmp_path,
        """
        import pulumi, pulumi_aws as aws
        image = aws.ec2.get_ami(most_recent=True, owners=["amazon"])
        zones = aws.get_availability_zones()
        network = aws.ec2.get_vpc_output(default=True)
        other = pulumi.StackReference("organization/storage/dev")
        aws.ec2.Instance("a", ami=image.id, instance_type="g5.xlarge", availability_zone=zones.names[1])
        aws.ec2.SecurityGroup("b", vpc_id=network.id, description=f"in {zones.names[0]}")
        status = {"status": "Enabled"}
        aws.s3.BucketVersioning("c", bucket=other.require_output("bucket"), versioning_configuration=status)
        """,
    )
    assert found["a"].props["instanceType"] == "g5.xlarge"
    assert found["a"].props["ami"] == Unknown(f"'ami' {ELSEWHERE}")
    assert found["a"].props["availabilityZone"] == Unknown(f"'availabilityZone' {ELSEWHERE}")
    assert found["b"].props["vpcId"] == Unknown(f"'vpcId' {ELSEWHERE}")
    assert found["b"].props["description"] == Unknown(f"'description' {ELSEWHERE}")
    assert found["c"].props["bucket"] == Unknown("'bucket' is known only after the update")
    assert found["c"].props["versioningConfiguration"] == {"status": "Enabled"}
    assert set(found) == {"a", "b", "c"}, "what is only looked up is not of this stack"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_zones_are_never_made_up_and_what_a_look_up_nests_has_its_shape(tmp_path: Path) -> None:
    found = records(
        tmp_path,
        """
        import pulumi, pulumi_alicloud as alicloud, pulumi_aws as aws
        zones = alicloud.get_zones()
        images = alicloud.ecs.get_images(owners="system", name_regex="^ubuntu_22")
        offers = aws.ec2.get_instance_type_offerings(filters=[{"name": "instance-type", "values": ["p5.48xlarge"]}])
        image = aws.ssm.get_parameter(name="/aws/service/deeplearning/ami/x86_64/base/latest/ami-id")
        word = aws.ssm.get_parameter(name="/team/zone")
        tables = aws.ec2.get_ami(owners=["self"]).block_device_mappings
        alicloud.vpc.Switch("a", vpc_id="v-1", cidr_block="10.0.0.0/24", zone_id=zones.zones[0].id)
        alicloud.ecs.Instance("b", image_id=images.images[0].id, instance_type="ecs.gn7i-c32g1.8xlarge")
        aws.ec2.Instance("c", ami=image.value, availability_zone=word.value, instance_type=offers.instance_types[0])
        aws.ebs.Volume("d", availability_zone="us-east-1a", type=tables[0].device_name)
        """,
    )
    assert found["a"].props["zoneId"] == Unknown(f"'zoneId' {ELSEWHERE}")
    assert str(found["b"].props["imageId"]).startswith("m-bp1")
    assert str(found["c"].props["ami"]).startswith("ami-")
    for name, key in (("c", "availabilityZone"), ("c", "instanceType"), ("d", "type")):
        assert found[name].props[key] == Unknown(f"'{key}' {ELSEWHERE}")


def test_encrypted_configuration_and_secrets(tmp_path: Path) -> None:
    stack = "config:\n  aws:region: us-east-1\n  token: {secure: AAAB}\n  nested: {a: {secure: AAAC}, b: 1}\n"
    found = records(
        tmp_path,
        """
        import pulumi, pulumi_aws as aws
        own = pulumi.Config()
        nested = own.require_object("nested")
        aws.ssm.Parameter("a", type="String", value=own.require_secret("token"))
        aws.ssm.Parameter("b", type="String", value=f"{nested['a']}-{nested['b']}")
        aws.ssm.Parameter("c", type="String", value=pulumi.Output.secret("plain"))
        """,
        {"dev": stack},
    )
    assert found["a"].props["value"] == Unknown(f"'value' {ELSEWHERE}")
    assert found["b"].props["value"] == Unknown(f"'value' {ELSEWHERE}")
    assert found["c"].props["value"] == "plain"


def test_configuration_is_text_as_the_engine_gives_it_and_the_projects_defaults_count(tmp_path: Path) -> None:
    settings = (
        "name: trial\nruntime: python\nconfig:\n  aws:region: {default: eu-west-1}\n"
        "  size: {type: integer, default: 2}\n"
        "  label: {value: fixed}\n  bare: {type: string}\n  plain: here\n"
    )
    project = read_project(write_project(tmp_path, "", settings=settings))
    given = {"flag": True, "size": 3, "ratio": 0.5, "list": [1, {"a": "b"}], "other:key": "x", "key": {"secure": "A"}}
    assert stack_config(project, given) == {
        "aws:region": "eu-west-1",
        "trial:size": "3",
        "trial:label": "fixed",
        "trial:plain": "here",
        "trial:flag": "true",
        "trial:ratio": "0.5",
        "trial:list": '[1, {"a": "b"}]',
        "other:key": "x",
        "trial:key": STAND_IN,
    }


def test_a_program_runs_in_its_own_folder_and_its_prints_are_no_part_of_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_project(tmp_path, "import beside\nprint(open('note.txt').read(), beside.WORD)\n")
    (tmp_path / "note.txt").write_text("read")
    (tmp_path / "beside.py").write_text("WORD = 'imported'\n")
    before = (list(sys.path), Path.cwd())
    run_program(tmp_path)
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "read imported\n")
    assert (list(sys.path), Path.cwd()) == before


def test_warnings_of_a_program_and_parts_that_cannot_be_seen_are_notes(tmp_path: Path) -> None:
    program = """
        import pulumi
        pulumi.log.warn("careful")
        pulumi.log.info("chatter")
        pulumi.ComponentResource("eks:index:Cluster", "remote", {}, None, remote=True)
    """
    notes = run_program(write_project(tmp_path, program)).notes
    assert notes == (
        "'remote' (eks:index:Cluster) is made outside Python, and what it makes cannot be seen here. Check the "
        "engine's own preview: gpuyard check --plan.",
        "careful",
    )


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("x = 1\nraise KeyError('zone')\n", "__main__.py:2: the program failed: KeyError: 'zone'"),
        ("import pulumi\nraise pulumi.RunError('no such thing')\n", "__main__.py:2: no such thing"),
        ("import pulumi\npulumi.Config().require('size')\n", "__main__.py:2: Missing required configuration variable"),
        ("import not_there.at_all\n", "__main__.py:1: the program needs the module 'not_there'"),
        ("import sys\nsys.exit(4)\n", "__main__.py:2: the program ended itself with exit code 4."),
        ("def f(:\n", "the program failed: SyntaxError"),
        (
            "import pulumi_aws as aws\nfor _ in range(2):\n    aws.s3.Bucket('one')\n",
            "two resources of type aws:s3/bucket:Bucket are called 'one'",
        ),
        (
            "import pulumi, pulumi_aws as aws\naws.s3.Bucket('a').id.apply(lambda _: 1)\n"
            "pulumi.Output.from_input(1).apply(lambda one: one / 0)\n",
            "ZeroDivisionError: division by zero",
        ),
    ],
)
def test_a_program_that_fails_is_bad_input_told_with_its_line(tmp_path: Path, program: str, told: str) -> None:
    text = problem(tmp_path, program)
    assert told in text
    assert "Traceback" not in text


def test_a_wrong_description_is_told_by_its_own_problems(tmp_path: Path) -> None:
    program = """
        import pulumi
        from gpuyard import CheckpointStore
        CheckpointStore("a", {"region": "us-east-1", "keep_days": -1})
    """
    assert "keep_days" in problem(tmp_path, program)
    assert "Traceback" not in problem(tmp_path, program)


def test_a_program_in_another_language_is_refused_with_the_way_to_check_it(tmp_path: Path) -> None:
    text = problem(tmp_path, "", settings="name: trial\nruntime: {name: nodejs}\n")
    assert "runtime: is 'nodejs', and only Python runs here." in text
    assert "--plan" in text


def test_a_project_without_stack_files_has_an_empty_configuration(tmp_path: Path) -> None:
    program = "import pulumi_aws as aws\naws.s3.Bucket('data')\n"
    source = run_program(write_project(tmp_path, program, stacks={}), "check")
    assert source.records[0].provider == {}
    assert source.place == Place("Pulumi.yaml", 1)
    assert source.places[source.records[0].urn] == Place("__main__.py", 2)


def test_a_resource_made_by_a_cluster_description_is_placed_in_the_stack_file() -> None:
    file = REPOSITORY / "stacks" / "Pulumi.aws-staging.yaml"
    lines = file.read_text(encoding="utf-8").splitlines()
    source = run_stack(read_project(REPOSITORY), "aws-staging", REPOSITORY)

    def line(kind: str, ending: str) -> str:
        (found,) = [one for one in source.records if one.type.endswith(kind) and one.name.endswith(ending)]
        place = source.places[found.urn]
        assert place.file == "stacks/Pulumi.aws-staging.yaml"
        return lines[place.line - 1].strip()

    assert line(":Group", "-train-group").startswith("train:")
    assert line(":Group", "-serve-group").startswith("serve:")
    assert line(":LustreFileSystem", "").startswith("file_system:")
    assert line(":LifecyclePolicy", "").startswith("snapshots:")
    assert line(":TrainingCluster", "").startswith("gpuyard:cluster:")
    assert source.place is not None
    assert lines[source.place.line - 1].strip() == "gpuyard:cluster:"


def test_nothing_of_a_cloud_is_loaded_that_the_stack_does_not_use(tmp_path: Path) -> None:
    write_project(tmp_path, "import pulumi_aws as aws\naws.s3.Bucket('data')\n")
    text = (
        "import sys\nfrom tests.policy.programs import run_program\nfrom pathlib import Path\n"
        f"run_program(Path({str(tmp_path)!r}))\n"
        "print(sorted(name for name in sys.modules if name in ('pulumi_alicloud', 'tencentcloud_iac_pulumi')),"
        " 'pulumi_aws.s3' in sys.modules, 'pulumi_aws.fsx.lustre_file_system' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=REPOSITORY)
    assert done.stdout.strip() == "[] True False", done.stderr


def test_policies_and_scripts_can_be_read_though_an_id_in_them_is_not_known_yet(tmp_path: Path) -> None:
    found = records(
        tmp_path,
        """
        import json, pulumi, pulumi_aws as aws
        bucket = aws.s3.Bucket("data")
        allowed = bucket.arn.apply(lambda arn: json.dumps({"Statement": [{"Action": "s3:*", "Resource": arn}]}))
        aws.iam.Policy("all", policy=allowed)
        aws.ec2.Instance("node", user_data=pulumi.Output.concat("export TOKEN=abc; mount ", bucket.bucket))
        aws.s3.BucketPolicy("only", bucket=bucket.id, policy=bucket.id)
        """,
    )
    assert json.loads(found["all"].props["policy"]) == {"Statement": [{"Action": "s3:*", "Resource": LATER}]}
    assert found["node"].props["userData"] == f"export TOKEN=abc; mount {LATER}"
    assert found["only"].props["bucket"] == Unknown("'bucket' is known only after the update")
    assert found["only"].props["policy"] == Unknown("'policy' is known only after the update")


def test_a_program_that_cannot_work_with_a_stand_in_runs_as_in_a_preview(tmp_path: Path) -> None:
    found = records(
        tmp_path,
        """
        import pulumi, pulumi_aws as aws
        bucket = aws.s3.Bucket("data")
        aws.ec2.Instance("node", user_data=bucket.arn.apply(lambda arn: arn.split(":")[5]))
        """,
    )
    assert found["node"].props["userData"] == Unknown("'userData' is known only after the update")
