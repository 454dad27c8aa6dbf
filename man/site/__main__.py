"""The documentation as a site: `python -m man.site [<directory>]` builds and checks it.

It needs `pip install '.[docs]'` and no network. The directory is `build/site` unless another is
given; what is in it is replaced.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from man.site.links import broken_links
from man.site.sources import SITE, TOP, write


def build(site: Path) -> int:
    """Build the site into a directory; 0 if nothing is wrong with it, its links included."""
    with TemporaryDirectory() as scratch:
        sources = Path(scratch, "sources")
        write(sources)
        words = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", str(SITE)]
        cache = ["-d", str(Path(scratch, "cache"))]
        if status := subprocess.run([*words, *cache, str(sources), str(site)], cwd=TOP).returncode:
            return status
    broken = list(broken_links(site.resolve()))
    print(*broken, sep="\n", end="\n" * bool(broken), file=sys.stderr)
    if not broken:
        print(f"the site is in {site}; open {site / 'index.html'}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]) if sys.argv[1:] else TOP / "build/site"))
