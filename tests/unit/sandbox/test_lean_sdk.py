"""A service of an SDK loads piece by piece, and whole when that is what is asked for."""

from __future__ import annotations

import subprocess
import sys
import textwrap


def run(code: str) -> str:
    """Each case in an interpreter of its own: what is loaded stays loaded."""
    begin = "import sys; from gpuyard.sandbox.lean_sdk import load_leanly; load_leanly('pulumi_aws', ['ec2', 's3'])\n"
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
