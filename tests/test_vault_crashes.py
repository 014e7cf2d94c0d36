"""Whatever kills a process that changes a vault, the vault is as it was before, or as it should be after."""

import os
import re
import subprocess
import sys
from pathlib import Path

#: How many processes are killed; `UNLEARNSPN_CRASHES=300` for a deep run.
N_CRASHES = int(os.environ.get("UNLEARNSPN_CRASHES", "16"))


def test_a_vault_survives_that_its_process_is_killed():
    script = Path(__file__).with_name("vault_crashes.py")
    command = [sys.executable, script, str(N_CRASHES), "0"]
    output = subprocess.run(command, capture_output=True, text=True, check=False)
    assert output.returncode == 0, output.stderr
    done, undone = map(int, re.search(r"(\d+) requests had been carried out, (\d+) not", output.stdout).groups())
    # If all were killed too early, or too late, nothing would have been shown.
    assert done + undone == N_CRASHES
    assert undone > 0
