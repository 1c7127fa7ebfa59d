"""Colours and fonts of the picture: plain classes, because few drawing programs know variables.

The picture has a background of its own, so that it can stand on any page; viewers that prefer dark get dark colours.
"""

_LIGHT = {
    ".page": "fill:#ffffff;stroke:#d5dbe3",
    "text": "fill:#1b2330",
    ".soft,.line,.aside,.zone-name,.network-name": "fill:#4f5a6b",
    ".region": "fill:#f6f8fa;stroke:#c3cbd6",
    ".network": "fill:#ffffff;stroke:#9fb4d0;stroke-dasharray:5 4",
    ".zone": "fill:#eef2f7;stroke:#d5dbe3",
    ".face": "fill:#ffffff;stroke:#c3cbd6",
    ".node": "fill:#e6edf6;stroke:#4f5a6b",
    ".maybe": "stroke-dasharray:2 2",
    ".gpu": "fill:#2563ad",
    ".pool .edge": "fill:#2563ad",
    ".file_system .edge": "fill:#0b7285",
    ".bucket .edge": "fill:#2b7a3d",
    ".snapshots .edge": "fill:#7048b6",
    ".monitoring .edge": "fill:#a15c00",
    ".gateway .edge": "fill:#5c6675",
    ".fabric": "stroke:#2563ad",
    ".fabric-name": "fill:#2563ad",
    ".data path": "stroke:#0b7285",
    ".data polygon,.label.data": "fill:#0b7285",
    ".sync path": "stroke:#2b7a3d",
    ".sync polygon,.label.sync": "fill:#2b7a3d",
    ".snapshot path": "stroke:#7048b6;stroke-dasharray:5 3",
    ".snapshot polygon,.label.snapshot": "fill:#7048b6",
    ".copy path": "stroke:#a83279;stroke-dasharray:5 3",
    ".copy polygon,.label.copy": "fill:#a83279",
    ".flow.internet path": "stroke:#5c6675",
    ".flow.internet polygon,.label.internet": "fill:#5c6675",
}
_DARK = {
    "#ffffff": "#161b22",
    "#d5dbe3": "#30363d",
    "#1b2330": "#e6edf3",
    "#4f5a6b": "#a9b4c2",
    "#f6f8fa": "#0f141a",
    "#c3cbd6": "#4a535f",
    "#9fb4d0": "#56708f",
    "#eef2f7": "#1e252e",
    "#e6edf6": "#26303c",
    "#2563ad": "#79b0f2",
    "#0b7285": "#5cc3d6",
    "#2b7a3d": "#6fc283",
    "#7048b6": "#b79cec",
    "#a15c00": "#e0a64e",
    "#5c6675": "#a9b4c2",
    "#a83279": "#ea8fc4",
}
_SHAPES = (
    "text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'Liberation Sans',sans-serif}"
    ".heading{font-size:18px;font-weight:600}.title{font-size:13px;font-weight:600}"
    ".region-name{font-size:13px;font-weight:600}.label{font-size:11px}.fabric-name{font-weight:600}"
    ".flow path{fill:none;stroke-width:1.6}.fabric{fill:none;stroke-width:4}"
)


def _rules(colours: dict[str, str]) -> str:
    return "".join(f"{selector}{{{rule}}}" for selector, rule in colours.items())


def _dark(rule: str) -> str:
    for light, dark in _DARK.items():
        rule = rule.replace(light, dark)
    return rule


STYLE = (
    _SHAPES
    + _rules(_LIGHT)
    + f"@media (prefers-color-scheme:dark){{{_rules({selector: _dark(rule) for selector, rule in _LIGHT.items()})}}}"
)
