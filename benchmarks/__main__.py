"""Run the named benchmarks, or all of them, each in a process of its own so that peak memory is its own."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from pathlib import Path


def main() -> int:
    here = [str(Path(__file__).parent)]
    names = sorted(m.name for m in pkgutil.iter_modules(here) if not m.name.startswith("_"))
    wanted = sys.argv[1:] or names
    unknown = sorted(set(wanted) - set(names))
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are {', '.join(names)}", file=sys.stderr)
        return 2
    codes = []
    for name in wanted:
        print(f"\n== {name}", flush=True)
        codes.append(subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode)
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
