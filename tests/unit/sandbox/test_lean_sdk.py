"""A service of an SDK loads piece by piece, and whole when that is what is asked for."""

from __future__ import annotations

import subprocess
import sys
import textwrap


def run(code: str, sdk: str = "pulumi_aws", services: tuple[str, ...] = ("ec2", "s3")) -> str:
    """Each case in an interpreter of its own: what is loaded stays loaded."""
    begin = f"import sys; from gpuyard.sandbox.lean_sdk import load_leanly; load_leanly('{sdk}', {services})\n"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", begin + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_naming_a_resource_loads_its_own_module_only() -> None:
    code = """
        import pulumi_aws as aws
        vpc, rule = aws.ec2.Vpc, aws.ec2.LaunchTemplateNetworkInterfaceArgs
        print(vpc.__module__, rule.__module__, "pulumi_aws.ec2.instance" in sys.modules)
    """
    assert run(code) == "pulumi_aws.ec2.vpc pulumi_aws.ec2._inputs False"


def test_a_whole_listing_or_star_import_loads_the_service_as_the_sdk_does() -> None:
    code = """
        import pulumi_aws as aws
        whole = set(dir(aws.ec2))
        print({"Instance", "Vpc", "get_vpc_output", "outputs"} <= whole, len(whole) > 1000)
    """
    assert run(code) == "True True"


def test_functions_and_their_output_form_are_found() -> None:
    code = """
        import pulumi_aws as aws
        print(aws.ec2.get_vpc.__name__, aws.ec2.get_vpc_output.__module__)
    """
    assert run(code) == "get_vpc pulumi_aws.ec2.get_vpc"


def test_a_function_stays_one_however_often_it_is_named() -> None:
    code = """
        import pulumi_aws as aws
        names = [aws.ec2.get_vpc_output, aws.ec2.get_vpc, aws.ec2.get_vpc, aws.ec2.get_vpc_output]
        print([callable(name) for name in names])
    """
    assert run(code) == "[True, True, True, True]"


def test_what_is_nowhere_is_an_attribute_error_as_ever() -> None:
    code = """
        import pulumi_aws as aws
        try:
            aws.ec2.NoSuchThing
        except AttributeError as error:
            print(error)
    """
    assert "NoSuchThing" in run(code)


def test_a_loaded_service_stays_as_it_is() -> None:
    code = """
        import pulumi_aws as aws
        aws.iam.Role
        before = sys.modules["pulumi_aws.iam"]
        load_leanly("pulumi_aws", ["iam"])
        print(sys.modules["pulumi_aws.iam"] is before)
    """
    assert run(code) == "True"


def test_the_other_clouds_services_load_piece_by_piece_too() -> None:
    code = """
        import pulumi_alicloud as alicloud
        from gpuyard.sandbox.schema import resource_schema
        group, disk = alicloud.ess.ScalingGroup, alicloud.ecs.InstanceDataDiskArgs
        schema = resource_schema("alicloud:oss/bucket:Bucket")
        print(group.__module__, disk.__module__, "versioning" in schema.inputs.properties)
        print(alicloud.ecs.get_images_output.__module__, "pulumi_alicloud.ecs.instance" in sys.modules)
    """
    lines = run(code, "pulumi_alicloud", ("ecs", "ess", "oss")).splitlines()
    assert lines[0] == "pulumi_alicloud.ess.scaling_group pulumi_alicloud.ecs._inputs True"
    assert lines[1] == "pulumi_alicloud.ecs.get_images False"


def test_a_folder_called_like_a_word_of_python_loads_piece_by_piece() -> None:
    code = """
        import tencentcloud_iac_pulumi as tencentcloud
        print(tencentcloud.as_.ScalingGroup.__module__, "tencentcloud_iac_pulumi.as_.schedule" in sys.modules)
    """
    assert run(code, "tencentcloud_iac_pulumi", ("as_",)) == "tencentcloud_iac_pulumi.as_.scaling_group False"
