#!/usr/bin/env bash
# Drives `memdir mcp` and `memdir serve` with the MCP Inspector's command line:
# inspector.sh INSPECTOR MEMDIR FOLDER
set -euo pipefail

inspector=$1 memdir=$2 folder=$3

. "$(dirname "$0")/serve.sh"
trap end_servers EXIT

# Prints the result of one request.
ask() {
    local server
    case $way in
        stdio) server=("$memdir" mcp -e "MEMDIR_STORE=$folder/stdio") ;;
        http) server=("$url" --transport http --header "Authorization: Bearer $token") ;;
    esac
    # What it warns of on stderr is about itself.
    "$inspector" --cli "${server[@]}" "$@" 2> "$folder/inspector.log" || {
        cat "$folder/inspector.log" >&2
        return 1
    }
}

# The value of a JavaScript expression over a result, which is `r`.
value() {
    node -e 'const r = JSON.parse(require("fs").readFileSync(0, "utf8")); console.log(eval(process.argv[1]))' "$1"
}

equal() {
    if [ "$2" != "$3" ]; then
        echo "failed: $1: '$2' is not '$3'" >&2
        exit 1
    fi
}

for way in stdio http; do
    mkdir -p "$folder/$way/files"
    if [ "$way" = http ]; then
        serve "$folder" "$memdir" serve --store "$folder/http" --listen 127.0.0.1:0
        token=$("$memdir" token show --store "$folder/http")
    fi
    listed=$(ask --method tools/list)
    equal "the tools" "$(value 'r.tools.map(t => t.name).join()' <<< "$listed")" "remember,think,recall"
    equal "the schemas" "$(value 'r.tools.map(t => t.outputSchema.type).join()' <<< "$listed")" "object,object,object"

    stored=$(ask --method tools/call --tool-name remember --tool-arg agent=inspector user=mira \
        'topics=["atlas","deploy"]' 'content=Deploys go out on Tuesdays.')
    id=$(value 'r.structuredContent.memory_id' <<< "$stored")
    equal "the message" "$(value 'JSON.parse(r.content[0].text).message' <<< "$stored")" \
        "Memory stored successfully with ID: $id"

    found=$(ask --method tools/call --tool-name think --tool-arg 'keywords=["deploy","atlas"]')
    equal "the id found" "$(value 'r.structuredContent.results.map(h => h.id).join()' <<< "$found")" "$id"
    equal "the score" "$(value 'JSON.parse(r.content[0].text)[0].relevance_score' <<< "$found")" "7"

    recalled=$(ask --method tools/call --tool-name recall --tool-arg "memory_ids=[\"$id\"]")
    equal "the content" "$(value 'r.structuredContent.results[0].content' <<< "$recalled")" "Deploys go out on Tuesdays."

    echo "inspector: tools/list and all three tools are as they should be over $way"
done
