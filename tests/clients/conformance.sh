#!/usr/bin/env bash
# Runs the protocol's own conformance suite over streamable HTTP: conformance.sh MEMDIR EXAMPLES
#
# Once against the server of the suite's fixtures in the folder EXAMPLES, where everything has to
# pass, and once against `memdir serve` as it is, where the checks of a list cannot, and just those.
# The suite is installed into a temporary folder; what cannot be installed is skipped, and that is
# said. That standard input and output say the same is shown first: it needs Python only.
set -euo pipefail

conformance=0.2.0-alpha.12

here=$(cd "$(dirname "$0")" && pwd)
usage="usage: conformance.sh MEMDIR EXAMPLES"
memdir=$(realpath "${1:?$usage}")
examples=$(realpath "${2:?$usage}")
work=$(mktemp -d)
. "$here/serve.sh"
trap 'end_servers; rm -rf "$work"' EXIT
# Nobody's settings but the tests'.
unset ${!MEMDIR_@} ${!AIAML_@} ${!XDG_@}
export HOME=$work/home
mkdir -p "$HOME" "$work/fixtures/files" "$work/shipped/files"

skipped() {
    echo "skipped: $1"
    if [ -s "$work/install.log" ]; then
        tail -n 3 "$work/install.log" | sed 's/^/    /'
    fi
}

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2> /dev/null; then
    skipped "Transcripts over standard input: there is no python3 of 3.10 or newer"
else
    python3 "$here/transcripts.py" "$memdir" "$examples"
fi

: > "$work/install.log"
. "$here/node.sh"
if ! command -v npm > /dev/null || ! command -v node > /dev/null; then
    skipped "Conformance suite: there is no node with npm"
    exit
elif ! newer=$(node_22 "$work"); then
    skipped "Conformance suite: node 22 cannot be installed"
    exit
fi
PATH=$newer:$PATH
if ! npm install --prefix "$work/npm" --ignore-scripts --no-audit --no-fund --loglevel=error \
    "@modelcontextprotocol/conformance@$conformance" > "$work/install.log" 2>&1; then
    skipped "Conformance suite: @modelcontextprotocol/conformance $conformance cannot be installed"
    exit
fi
echo "Conformance suite: @modelcontextprotocol/conformance $conformance, node $(node --version)"

failed=0
# Runs the suite for one revision: check WHAT REVISION PASSING [LIST]
check() {
    local what=$1 revision=$2 passing=$3 list=("${@:4}") results
    results=$work/results/${what// /-}/$revision
    if ! node "$work/npm/node_modules/@modelcontextprotocol/conformance/dist/index.js" server \
        --url "$url" --requirements "$revision" -o "$results" \
        ${list[@]+--expected-failures "${list[@]}"} > "$work/suite.log" 2>&1; then
        tail -n 40 "$work/suite.log"
        failed=1
    fi
    printf '%s at %s: ' "$what" "$revision"
    node "$here/conformance/verdict.mjs" "$results" "$passing" ${list[@]+"${list[@]}"} || failed=1
}

serve "$work" "$examples/conformance_server" "$work/fixtures"
check "the fixtures" 2025-11-25 83
check "the fixtures" 2026-07-28 197
serve "$work" "$memdir" serve --store "$work/shipped" --no-token --listen 127.0.0.1:0
check "memdir serve" 2025-11-25 46 "$here/conformance/2025-11-25.yaml"
check "memdir serve" 2026-07-28 109 "$here/conformance/2026-07-28.yaml"
exit "$failed"
