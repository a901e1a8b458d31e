#!/usr/bin/env bash
# Drives `memdir mcp` and `memdir serve` with clients that others wrote: run.sh MEMDIR
#
# Clients are installed into a temporary folder. One that cannot be installed, for want of its
# language or of a network, is skipped, and that is said; one that is installed has to pass.
set -euo pipefail

# The versions this was tested with. The newer ones also speak the protocol's newer era; the newer
# Inspector wants Node 22, which npm has, too.
python_mcp=1.30.0
python_mcp_2=2.3.0
pyte=0.8.2
inspector=1.0.3
inspector_2=2.12.0

here=$(cd "$(dirname "$0")" && pwd)
memdir=$(realpath "${1:?usage: run.sh MEMDIR}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/python" "$work/inspector" "$work/dialects" "$work/inspected"
# Nobody's settings but the tests'.
unset ${!MEMDIR_@} ${!AIAML_@}

skipped() {
    echo "skipped: $1"
    if [ -s "$work/install.log" ]; then
        tail -n 3 "$work/install.log" | sed 's/^/    /'
    fi
}

run() {
    echo "+ $*"
    "$@"
}

: > "$work/install.log"
if ! command -v python3 > /dev/null; then
    skipped "Python client: there is no python3"
elif ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    skipped "Python client: $(python3 --version) is older than 3.10"
elif ! { python3 -m venv "$work/venv" &&
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check "mcp==$python_mcp"; } \
    > "$work/install.log" 2>&1; then
    skipped "Python client: mcp $python_mcp cannot be installed"
else
    echo "Python client: mcp $python_mcp, $(python3 --version)"
    run "$work/venv/bin/python" "$here/python_client.py" "$memdir" "$work/python"
fi

: > "$work/install.log"
if ! command -v python3 > /dev/null ||
    ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    skipped "Python client of both eras: there is no python3 of 3.10 or newer"
elif ! { python3 -m venv "$work/venv2" &&
    "$work/venv2/bin/pip" install --quiet --disable-pip-version-check "mcp==$python_mcp_2"; } \
    > "$work/install.log" 2>&1; then
    skipped "Python client of both eras: mcp $python_mcp_2 cannot be installed"
else
    echo "Python client of both eras: mcp $python_mcp_2, $(python3 --version)"
    run "$work/venv2/bin/python" "$here/dialects.py" "$memdir" "$work/dialects"
fi

: > "$work/install.log"
if ! command -v python3 > /dev/null; then
    skipped "Picker in a pseudo-terminal: there is no python3"
elif ! { python3 -m venv "$work/venv3" &&
    "$work/venv3/bin/pip" install --quiet --disable-pip-version-check "pyte==$pyte"; } \
    > "$work/install.log" 2>&1; then
    skipped "Picker in a pseudo-terminal: pyte $pyte cannot be installed"
else
    echo "Picker in a pseudo-terminal: pyte $pyte"
    run "$work/venv3/bin/python" "$here/picker.py" "$memdir"
    run "$work/venv3/bin/python" "$here/picture.py" "$memdir"
fi

: > "$work/install.log"
if ! command -v npm > /dev/null || ! command -v node > /dev/null; then
    skipped "Inspector: there is no node with npm"
elif ! node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)'; then
    skipped "Inspector: node $(node --version) is older than 20"
elif ! npm install --prefix "$work/npm" --ignore-scripts --no-audit --no-fund --loglevel=error \
    "@modelcontextprotocol/inspector@$inspector" > "$work/install.log" 2>&1; then
    skipped "Inspector: @modelcontextprotocol/inspector $inspector cannot be installed"
else
    echo "Inspector: @modelcontextprotocol/inspector $inspector, node $(node --version)"
    run "$here/inspector.sh" "$work/npm/node_modules/.bin/mcp-inspector" "$memdir" "$work/inspector"
fi

. "$here/node.sh"

: > "$work/install.log"
if ! command -v npm > /dev/null || ! command -v node > /dev/null; then
    skipped "Inspector of both eras: there is no node with npm"
elif ! newer=$(node_22 "$work"); then
    skipped "Inspector of both eras: node 22 cannot be installed"
elif ! PATH=$newer:$PATH npm install --prefix "$work/npm2" --ignore-scripts --no-audit --no-fund \
    --loglevel=error "@modelcontextprotocol/inspector@$inspector_2" > "$work/install.log" 2>&1; then
    skipped "Inspector of both eras: @modelcontextprotocol/inspector $inspector_2 cannot be installed"
else
    echo "Inspector of both eras: @modelcontextprotocol/inspector $inspector_2, node $("$newer/node" --version)"
    PATH=$newer:$PATH run "$here/inspector_dialects.sh" "$work/npm2/node_modules/.bin/mcp-inspector" "$memdir" "$work/inspected"
fi
