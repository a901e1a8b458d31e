#!/usr/bin/env bash
# Has the official client of MCP log in at an issuer of a team's server: login.sh MEMDIR
#
# MEMDIR was built with the feature `team`; to be run by tests/team/with_postgres.sh. Client and issuer are installed
# from npm into a temporary folder; where they cannot be, that is said, and the check skipped.
set -euo pipefail

client=1.32.2

here=$(cd "$(dirname "$0")" && pwd)
memdir=$(realpath "${1:?usage: login.sh MEMDIR}")
: "${MEMDIR_TEST_POSTGRES:?run it by tests/team/with_postgres.sh}"
work=$(mktemp -d)
started=()
end() {
    for process in "${started[@]}"; do
        kill "$process" 2> /dev/null || true
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
node "$work/issuer.mjs" 0 > "$work/issuer" 2> "$work/issuer.log" &
started+=($!)
issuer=$(line "$work/issuer" http://)
port=$(free)
"$memdir" team migrate
"$memdir" team create atlas
"$memdir" team map atlas atlas-writers --role writer
"$memdir" serve --database --cache "$work/cache" --listen "127.0.0.1:$port" \
    --issuer "$issuer" --audience "http://127.0.0.1:$port" 2> "$work/log" &
started+=($!)
line "$work/log" "serving the workspaces" > /dev/null
node "$work/login.mjs" "http://127.0.0.1:$port/w/atlas/mcp"
"$memdir" team audit atlas | grep -F "anna@$issuer"
