"""``python -m gpuyard.provider`` prints the package's schema."""

import json

from gpuyard.provider.host import GpuyardProvider

if __name__ == "__main__":
    print(json.dumps(json.loads(GpuyardProvider().schema or ""), indent=2, ensure_ascii=False))
