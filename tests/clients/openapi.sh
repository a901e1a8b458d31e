#!/usr/bin/env bash
# Asks a server whatever its description allows, and forbids, and holds the answers against it:
#   tests/clients/openapi.sh target/debug/memdir [CASES]
#
# Wants Python with `venv`; installs schemathesis into a folder of its own. Without the registry it
# says that it was skipped. At least CASES requests are made (10,000 unless told): no answer may be
# an error of the server, or differ from the description in status, type or shape.
set -euo pipefail

binary=$(realpath "$1")
wanted=${2:-10000}
work=$(mktemp -d)
server=
stop() {
    if [ -n "$server" ]; then
        kill "$server" 2> /dev/null || true
    fi
    rm -rf "$work"
}
trap stop EXIT

version=4.32.5
if ! python3 -m venv "$work/venv" || ! "$work/venv/bin/pip" install -q "schemathesis==$version"; then
    echo "skipped: schemathesis $version: it cannot be installed"
    exit 0
fi

mkdir -p "$work/store/files"
export MEMDIR_STORE=$work/store MEMDIR_GIT=false MEMDIR_EMBEDDING=off XDG_CONFIG_HOME=$work/none
# What it fills in is taken from the description; the ids of some memories are there to be found.
for number in 1 2 3 4 5; do
    "$binary" remember "Memory $number for whoever asks" --title "number $number" > /dev/null
done
mkfifo "$work/said"
"$binary" serve --listen 127.0.0.1:0 --reads-per-second 0 --writes-per-second 0 2> "$work/said" &
server=$!
exec 3< "$work/said"
address=
while [ -z "$address" ] && read -r line <&3; do
    address=$(grep -o 'http://[^ ]*' <<< "$line" || true)
done
cat <&3 > "$work/log" &
token=$("$binary" token show)

# What it notes for itself lies there, too.
cd "$work"
# The checks are those of the contract. Whether each odd value is refused is not one of them: the
# tools read numbers in texts and the like on purpose.
made=0
round=0
while [ "$made" -lt "$wanted" ]; do
    round=$((round + 1))
    "$work/venv/bin/schemathesis" --no-color run "$address/api/v1/openapi.json" \
        --header "Authorization: Bearer $token" \
        --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,ignored_auth \
        --exclude-path /events \
        --phases examples,coverage,fuzzing \
        --max-examples 400 --seed "$round" --workers 2 --suppress-health-check all \
        > "$work/report" 2>&1 || {
        cat "$work/report"
        echo "round $round failed; the server said:"
        tail -20 "$work/log"
        exit 1
    }
    cases=$(grep -Eo '[0-9,]+ generated' "$work/report" | tr -d ', a-z' | sort -n | tail -1)
    if [ -z "$cases" ]; then
        cat "$work/report"
        exit 1
    fi
    made=$((made + cases))
done
if ! kill -0 "$server"; then
    echo "the server ended"
    exit 1
fi
echo "schemathesis $version: $made cases in $round rounds, no error of the server, no answer against its description"
