"""The topology of a stack as a picture: a graph of its plan, and that graph as SVG or Mermaid."""

from gpuyard.diagram.mermaid import mermaid_text
from gpuyard.diagram.model import Topology, topology_of
from gpuyard.diagram.svg import svg_text

__all__ = ["Topology", "mermaid_text", "svg_text", "topology_of"]
