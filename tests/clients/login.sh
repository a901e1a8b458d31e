#!/usr/bin/env bash
# Has the official client of MCP log in at an issuer of a team's server, and then the MCP Inspector in a browser:
# login.sh MEMDIR
#
# MEMDIR was built with the feature `team`; to be run by tests/team/with_postgres.sh. Clients and issuer are installed
# from npm into a temporary folder; where they cannot be, that is said, and the check skipped.
set -euo pipefail

client=1.32.2

here=$(cd "$(dirname "$0")" && pwd)
# The versions that the other checks of clients use.
inspector=$(sed -n 's/^inspector=//p' "$here/run.sh")
playwright=$(sed -n 's/^playwright=//p' "$here/../page/run.sh")
memdir=$(realpath "${1:?usage: login.sh MEMDIR}")
: "${MEMDIR_TEST_POSTGRES:?run it by tests/team/with_postgres.sh}"
work=$(mktemp -d)
started=()
end() {
    for process in "${started[@]}"; do
        # With its children: the Inspector has some.
        if kill -0 -- "-$process" 2> /dev/null; then
            kill -- "-$process"
        fi
    done
    rm -rf "$work"
}
trap end EXIT
export HOME="$work" MEMDIR_DATABASE="$MEMDIR_TEST_POSTGRES"

cp "$here/login.mjs" "$here/../team/issuer/issuer.mjs" "$here/../team/issuer/package.json" "$work"
if ! npm install --prefix "$work" --ignore-scripts --no-audit --no-fund --loglevel=error \
    "@modelcontextprotocol/sdk@$client" > "$work/install.log" 2>&1; then
    echo "skipped: login of a client of MCP: @modelcontextprotocol/sdk $client or its issuer cannot be installed"
    tail -n 3 "$work/install.log"
    exit 0
fi
free() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
# Waits for a line of a file.
line() {
    timeout 60 sh -c "until grep -m 1 -e '$2' '$1'; do sleep 0.1; done"
}
setsid node "$work/issuer.mjs" 0 > "$work/issuer" 2> "$work/issuer.log" &
started+=($!)
issuer=$(line "$work/issuer" http://)
port=$(free)
"$memdir" team migrate
"$memdir" team create atlas
"$memdir" team map atlas atlas-writers --role writer
setsid "$memdir" serve --database --cache "$work/cache" --listen "127.0.0.1:$port" \
    --issuer "$issuer" --audience "http://127.0.0.1:$port" 2> "$work/log" &
started+=($!)
line "$work/log" "serving the workspaces" > /dev/null
node "$work/login.mjs" "http://127.0.0.1:$port/w/atlas/mcp"
"$memdir" team audit atlas | grep -F "anna@$issuer"

browser=$(command -v chromium || command -v google-chrome || true)
if [ -z "$browser" ]; then
    echo "skipped: login of the Inspector: there is no chromium"
    exit 0
fi
if ! { python3 -m venv "$work/venv" &&
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check "playwright==$playwright" &&
    npm install --prefix "$work/inspector" --ignore-scripts --no-audit --no-fund --loglevel=error \
        "@modelcontextprotocol/inspector@$inspector"; } > "$work/install.log" 2>&1; then
    echo "skipped: login of the Inspector: playwright $playwright or the Inspector $inspector cannot be installed"
    tail -n 3 "$work/install.log"
    exit 0
fi
page=$(free) proxy=$(free)
CLIENT_PORT=$page SERVER_PORT=$proxy MCP_AUTO_OPEN_ENABLED=false MCP_PROXY_AUTH_TOKEN=of-the-test \
    setsid node "$work/inspector/node_modules/@modelcontextprotocol/inspector/client/bin/start.js" > "$work/inspector.log" 2>&1 &
started+=($!)
line "$work/inspector.log" "up and running" > /dev/null
"$work/venv/bin/python" "$here/inspector_login.py" "http://localhost:$page" "http://localhost:$proxy" of-the-test \
    "http://127.0.0.1:$port/w/atlas/mcp" "$browser"
# A line of a read is written soon after it.
timeout 60 sh -c "until '$memdir' team audit atlas | grep -F think | grep -F 'anna@$issuer'; do sleep 0.1; done"
