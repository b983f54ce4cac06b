#!/bin/sh
# Makes .venv/ with this project (editable), the CPU build of vLLM and the developer tools.
# In: PYTHON (default python3). Out: .venv/. Needs the network once, a few minutes and about 4 GB.
set -eu
PYTHON=${PYTHON:-python3}

"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "Python 3.11 or newer is needed; $PYTHON is $("$PYTHON" --version 2>&1). Set PYTHON=/path/to/python3.11." >&2
  exit 1
}
[ -x .venv/bin/python ] || "$PYTHON" -m venv .venv
.venv/bin/python -m pip install --quiet --upgrade 'pip>=25.1'

# The CPU build of vLLM asks for a "+cpu" build of torch. A machine whose pip does not know one is
# pointed to PyTorch's own CPU wheels.
install() { .venv/bin/python -m pip install --quiet --editable '.[cpu]' --group dev "$@"; }
install || install --extra-index-url https://download.pytorch.org/whl/cpu

# pip then picks a torchvision built for CUDA, which breaks `import transformers`; nothing here needs it.
.venv/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec

sh scripts/make_trainers.sh
