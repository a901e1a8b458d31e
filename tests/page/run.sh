#!/usr/bin/env bash
# Drives the page of `memdir serve` in Chromium: run.sh MEMDIR [--all] [--jobs N] [--pictures FOLDER] [--readme FILE] [SCENE…]
#
# The driver and the rules for accessibility are installed into a temporary folder; the browser is the system's.
set -euo pipefail

# The versions this was tested with.
playwright=1.65.2
axe=4.14.1

here=$(cd "$(dirname "$0")" && pwd)
memdir=$(realpath "${1:?usage: run.sh MEMDIR [--all] [--jobs N] [--pictures FOLDER] [--readme FILE] [SCENE…]}")
shift
browser=$(command -v chromium || command -v google-chrome || true)
if [ -z "$browser" ]; then
    echo "skipped: the page in a browser: there is no chromium"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! { python3 -m venv "$work/venv" &&
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check "playwright==$playwright"; } \
    > "$work/install.log" 2>&1; then
    echo "skipped: the page in a browser: playwright $playwright cannot be installed"
    exit 0
fi
if ! npm install --silent --prefix "$work/npm" "axe-core@$axe" > "$work/install.log" 2>&1; then
    echo "skipped: accessibility of the page: axe-core $axe cannot be installed"
fi
"$work/venv/bin/python" "$here/scenes.py" "$memdir" --browser "$browser" \
    --axe "$work/npm/node_modules/axe-core/axe.min.js" "$@"
