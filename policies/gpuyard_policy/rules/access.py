"""Rules about who can reach nodes and data, and with which rights."""

import re
from collections.abc import Iterable
from ipaddress import ip_network

from gpuyard_policy.facts import NodePoolFact, StorageFact
from gpuyard_policy.facts.model import IngressFact, RoleFact
from gpuyard_policy.rules.judging import (
    Answer,
    CannotTellError,
    each,
    failed,
    has_gpus,
    known,
    on_each,
    on_pools,
    passed,
)
from gpuyard_policy.rules.rule import Context, Finding, Rule, everywhere, stricter

# Ports on which programs that give away a machine listen by default, by their own documentation.
# Sources: https://docs.pytorch.org/docs/stable/elastic/run.html, https://docs.ray.io/en/latest/ray-core/configure.html,
# https://docs.jupyter.org, https://www.tensorflow.org/tensorboard, https://www.deepspeed.ai/getting-started/,
# https://docs.vllm.ai, https://docs.nvidia.com/deeplearning/triton-inference-server/, https://slurm.schedmd.com
DANGEROUS_PORTS = {
    22: "SSH",
    3389: "remote desktop",
    5000: "MLflow",
    5900: "VNC",
    6006: "TensorBoard",
    6379: "Ray, Redis",
    6443: "Kubernetes",
    6817: "Slurm",
    6818: "Slurm",
    8000: "vLLM, Triton",
    8001: "Triton",
    8080: "notebooks, TorchServe",
    8265: "Ray dashboard",
    8786: "Dask",
    8787: "Dask dashboard",
    8888: "Jupyter",
    9400: "DCGM exporter",
    10001: "Ray client",
    10250: "kubelet",
    29400: "torchrun",
    29500: "torch.distributed",
}
# Secrets as their makers write them, and passwords that are set in a script.
_SECRETS = {
    "an AWS access key": re.compile(r"\b(AKIA|ASIA)[0-9A-Z]{16}\b"),
    "an AWS secret key": re.compile(r"(?i)aws_secret_access_key\s*[=:]\s*['\"]?[A-Za-z0-9/+]{40}\b"),
    "an Alibaba Cloud access key": re.compile(r"\bLTAI[0-9A-Za-z]{12,24}\b"),
    "a Tencent Cloud secret id": re.compile(r"\bAKID[0-9A-Za-z]{32}\b"),
    "a private key": re.compile(r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----"),
    "a GitHub token": re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36}\b"),
    "a Hugging Face token": re.compile(r"\bhf_[A-Za-z0-9]{30,}\b"),
    "an API key of OpenAI's form": re.compile(r"\bsk-[A-Za-z0-9_-]{32,}\b"),
    "a password": re.compile(
        r"(?im)^\s*(?:export\s+)?\w*(?:password|passwd|secret|api_?key|token)\w*\s*=\s*"
        r"(?:\"[^\"$`{<]{6,}\"|'[^'$`{<]{6,}'|[^\s\"'$`({</;|&-][^\s\"'$`(;|&]{5,})\s*$"
    ),
}
_WORLD = 8
"""Shortest prefix of addresses that is still somebody's network and not the internet: the largest ever given out."""


def _ingress(context: Context) -> Iterable[Finding]:
    nodes: set[str] = set()
    for pool in context.facts.node_pools:
        if isinstance(pool.security_groups, tuple):
            nodes.update(pool.security_groups)
    return each(context, context.facts.ingress, lambda _, rule: _judge_ingress(rule, nodes))


def _judge_ingress(rule: IngressFact, nodes: set[str]) -> Answer:
    cidr = known(rule.cidr, f"from where '{rule.name}' lets traffic in")
    if not _is_internet(rule, cidr):
        return passed(f"from {cidr} only.")
    protocol = known(rule.protocol, f"what traffic '{rule.name}' lets in")
    if protocol == "icmp":
        return passed("echo and errors only.")
    ports = known(rule.ports, f"which ports '{rule.name}' lets in")
    if ports is None:
        return failed(
            f"'{rule.name}' lets all ports in from the internet ({cidr}). Let in your own addresses, or a group, and "
            "no more ports than are needed; reach nodes by the cloud's session service."
        )
    first, last = ports
    open_ones = [f"{port} ({what})" for port, what in DANGEROUS_PORTS.items() if first <= port <= last]
    on_nodes = isinstance(rule.group, str) and rule.group in nodes
    if not open_ones and not on_nodes:
        return passed("none of its ports is one of training or administration.")
    span = f"port {first}" if first == last else f"ports {first} to {last}"
    what = f": {', '.join(open_ones)}" if open_ones else " of GPU nodes"
    return failed(
        f"'{rule.name}' lets {span} in from the internet ({cidr}){what}. Let in your own addresses or a group, or put "
        "a load balancer before it."
    )


def _is_internet(rule: IngressFact, cidr: str) -> bool:
    try:
        network = ip_network(cidr, strict=False)
    except ValueError:
        raise CannotTellError(f"cannot tell from where '{rule.name}' lets traffic in: '{cidr}' is no range.") from None
    return network.prefixlen < _WORLD and not network.is_private


def _judge_address(_: Context, pool: NodePoolFact) -> Answer:
    if not has_gpus(pool):
        return None
    public = known(pool.public_address, f"whether nodes of pool '{pool.name}' get a public address")
    if public is None:
        raise CannotTellError(
            f"cannot tell whether nodes of pool '{pool.name}' get a public address: their subnet decides, and is not "
            "in this stack. Say no where they are launched."
        )
    if not public:
        return passed("no address of the internet.")
    return failed(
        f"nodes of pool '{pool.name}' get an address of the internet. Put them into private subnets with a NAT gateway "
        "or endpoints, and switch the address off."
    )


def _judge_public_bucket(_: Context, bucket: StorageFact) -> Answer:
    if known(bucket.public, f"whether bucket '{bucket.name}' is public"):
        return failed(
            f"bucket '{bucket.name}' can be read or written by everybody. Make it private, and block public access."
        )
    return passed("private.")


def _judge_metadata(_: Context, pool: NodePoolFact) -> Answer:
    if known(pool.metadata_hardened, f"whether the metadata service of pool '{pool.name}' asks for a token"):
        return passed("the metadata service asks for a token.")
    return failed(
        f"the metadata service of nodes of pool '{pool.name}' answers without a token: one forged request gets the "
        "role's credentials. Set 'http_tokens' to 'required'."
    )


def _judge_wildcard(_: Context, role: RoleFact) -> Answer:
    wide = known(role.wildcards, f"which rights '{role.name}' gives")
    if not wide:
        return passed("no bare wildcard.")
    return failed(
        f"'{role.name}' gives {', '.join(wide)}. Name the actions that are needed, and the resources they are for."
    )


def _judge_secrets(_: Context, pool: NodePoolFact) -> Answer:
    script = known(pool.user_data, f"what nodes of pool '{pool.name}' run when they start")
    found = [what for what, pattern in _SECRETS.items() if script is not None and pattern.search(script)]
    if not found:
        return passed("no secret that can be recognized.")
    return failed(
        f"the user data of pool '{pool.name}' holds {' and '.join(found)}: whoever may describe the machine, or runs "
        "on it, reads that. Fetch it from the secret store with the node's role, and replace what was written."
    )


def _judge_https(_: Context, bucket: StorageFact) -> Answer:
    if known(bucket.https_only, f"whether bucket '{bucket.name}' refuses plain HTTP"):
        return passed("HTTPS only.")
    return failed(f"bucket '{bucket.name}' answers plain HTTP. Add a policy that denies requests without TLS.")


RULES = (
    Rule(
        id="ACC001",
        name="no-ingress-from-the-internet",
        family="access",
        title="SSH, notebooks and training ports are not open to the internet.",
        severity="critical",
        levels=everywhere("mandatory"),
        rationale=(
            "torch.distributed, Ray, Jupyter and DCGM run what they are sent, without asking who sends it. Open GPU "
            "nodes are found within hours, and mine for others."
        ),
        remedy="Let in a group or your own addresses; use the cloud's session service in place of SSH.",
        check=_ingress,
        example=("22 from 0.0.0.0/0", "29500 from the group itself"),
    ),
    Rule(
        id="ACC002",
        name="no-public-address-on-gpu-nodes",
        family="access",
        title="GPU nodes have no address of the internet.",
        severity="high",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale="A node without a public address cannot be reached by mistake, whatever its security group says.",
        remedy="Use private subnets, and switch the public address off where machines are launched.",
        check=on_pools(_judge_address),
        example=("associatePublicIpAddress: true", "associatePublicIpAddress: false"),
    ),
    Rule(
        id="ACC003",
        name="no-public-bucket",
        family="access",
        title="No bucket is public.",
        severity="critical",
        levels=everywhere("mandatory"),
        rationale="Weights and data sets are copied within hours, and the owner pays for the traffic.",
        remedy="Make it private, and block public access to it.",
        check=on_each(lambda facts: facts.buckets, _judge_public_bucket),
        example=("acl: public-read", "acl: private, with a public access block"),
    ),
    Rule(
        id="ACC004",
        name="metadata-service-asks-for-a-token",
        family="access",
        title="The metadata service of nodes asks for a session token.",
        severity="high",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale="Without a token any program that fetches a URL for somebody else fetches the node's credentials.",
        remedy="Require session tokens where machines are launched.",
        check=on_pools(_judge_metadata),
        example=("httpTokens: optional", "httpTokens: required"),
    ),
    Rule(
        id="ACC005",
        name="no-wildcard-rights",
        family="access",
        title="Roles and policies name the actions that they allow.",
        severity="high",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale="Training runs other people's code. What it may do is what the node's role may do.",
        remedy="Name actions and resources.",
        check=on_each(lambda facts: facts.roles, _judge_wildcard),
        example=("s3:* on *", "s3:GetObject on one prefix"),
    ),
    Rule(
        id="ACC006",
        name="no-secrets-in-user-data",
        family="access",
        title="User data holds no secrets.",
        severity="critical",
        levels=everywhere("mandatory"),
        rationale=(
            "User data is stored in plain text, shown by the console and by the metadata service, and kept in state."
        ),
        remedy="Fetch secrets from the secret store with the node's role.",
        check=on_pools(_judge_secrets),
        example=("export WANDB_API_KEY=0123456789abcdef", "aws secretsmanager get-secret-value ..."),
    ),
    Rule(
        id="ACC007",
        name="bucket-is-https-only",
        family="access",
        title="A bucket refuses plain HTTP.",
        severity="medium",
        levels=stricter("advisory", "mandatory", "mandatory"),
        rationale="A client that is set up wrongly sends data and signed requests for all on the way to read.",
        remedy="Add a policy that denies requests without TLS.",
        check=on_each(lambda facts: facts.buckets, _judge_https),
        example=("no bucket policy", "Deny with aws:SecureTransport: false"),
    ),
)
