"""The commands for Emacs that the guide for editors shows, in Emacs itself."""

from __future__ import annotations

import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from tests.checkpoints.kit import take
from tests.repo_kit import Repo

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("emacs"), reason="needs Emacs"),
]
GUIDE = Path(__file__).parents[2] / "man" / "editors.md"
SESSION = """
(with-temp-buffer
  (insert "menu.txt\\n<<<<<<< SEARCH\\nTea 2.50\\n=======\\nTea 2.90\\n>>>>>>> REPLACE\\n")
  (boocode-apply (point-min) (point-max)))
(boocode-restore)
(let ((process (get-buffer-process "*boocode-restore*")) (seconds 0))
  (defun wait-for (text)
    (while (and (< seconds 300)
                (not (with-current-buffer "*boocode-restore*"
                       (string-match-p (regexp-quote text) (buffer-string)))))
      (accept-process-output process 0.1)
      (setq seconds (1+ seconds))))
  (wait-for "before which turn?")
  (process-send-string process "0\\n")
  (wait-for "restore this?")
  (process-send-string process "y\\n")
  (wait-for "restored "))
"""


def test_an_edit_is_applied_and_restored(repo: Repo, tmp_path: Path) -> None:
    repo.commit(**{"menu.txt": "MENU\nTea 2.50\n"})
    take(label="before the edit")
    section = GUIDE.read_text(encoding="utf-8").partition("# EMACS\n")[2].partition("\n# ")[0]
    shown = [line for line in section.splitlines() if line.startswith("    ")]
    script = tmp_path / "session.el"
    script.write_text(textwrap.dedent("\n".join(shown)) + SESSION, encoding="utf-8")
    done = subprocess.run(
        ["emacs", "--batch", "-Q", "-l", script], cwd=repo.top, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert repo.read("menu.txt") == b"MENU\nTea 2.50\n"
    edits = repo.boocode("log", "--edits", "--json").json["edits"]
    assert [file["path"] for file in edits[0]["files"]] == ["menu.txt"]
