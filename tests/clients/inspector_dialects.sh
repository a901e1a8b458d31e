#!/usr/bin/env bash
# Drives every tool set with the Inspector's command line, in both eras of the protocol:
# inspector_dialects.sh INSPECTOR MEMDIR FOLDER
#
# Wants an Inspector that speaks both. With --strict it fails on a schema that some client cannot
# take.
set -euo pipefail

inspector=$1 memdir=$2 folder=$3

. "$(dirname "$0")/serve.sh"
trap end_servers EXIT

# Prints the result of one request of the era to the dialect.
ask() {
    local more=(--quiet --protocol-era "$era" "$@")
    case $way in
        stdio)
            more+=(-e "MEMDIR_STORE=$store" -- "$memdir" mcp --dialect "$dialect")
            ;;
        http)
            more+=(--transport http --server-url "$url" --header "Authorization: Bearer $token")
            ;;
    esac
    "$inspector" --cli "${more[@]}" 2> "$folder/inspector.log" || {
        cat "$folder/inspector.log" >&2
        return 1
    }
}

# Calls a tool with arguments as JSON; prints what it answers as text.
call() {
    ask --method tools/call --tool-name "$1" --tool-args-json "$2" | value 'r.content[0].text'
}

# The value of a JavaScript expression over a result, which is `r`.
value() {
    node -e 'const r = JSON.parse(require("fs").readFileSync(0, "utf8")); console.log(eval(process.argv[1]))' "$1"
}

equal() {
    if [ "$2" != "$3" ]; then
        echo "failed: $dialect, $era, $way: $1: '$2' is not '$3'" >&2
        exit 1
    fi
}

for era in legacy modern; do
    for served in core/stdio core/http loci/stdio ai-memory/stdio i-am/stdio; do
        dialect=${served%/*} way=${served#*/}
        store=$folder/$dialect-$era-$way
        mkdir -p "$store/files"
        if [ "$way" = http ]; then
            serve "$folder" "$memdir" serve --store "$store" --listen 127.0.0.1:0
            token=$("$memdir" token show --store "$store")
        fi
        listed=$(ask --method tools/list --strict)
        count=$(value 'r.tools.length' <<< "$listed")
        case $dialect in
            core)
                equal "how many tools" "$count" 3
                id=$(call remember '{"agent":"i","user":"u","topics":["mill"],"content":"The mill turns."}' | value 'r.memory_id')
                equal "the hit" "$(call think '{"query":"mill"}' | value 'r[0].id')" "$id"
                equal "the content" "$(call recall "{\"memory_ids\":[\"$id\"]}" | value 'r[0].content')" "The mill turns."
                equal "the resource" "$(ask --method resources/read --uri "memory://$id" | value 'r.contents[0].text.split("\n").pop()')" "The mill turns."
                equal "the prompts" "$(ask --method prompts/list | value 'r.prompts.length')" 4
                ;;
            loci)
                equal "how many tools" "$count" 6
                id=$(call store_memory '{"content":"The mill turns.","type":"semantic"}' | value 'r.id')
                equal "the preview" "$(call recall_memory '{"query":"mill","summary_only":true}' | value 'r.results[0].preview')" "The mill turns."
                equal "the content" "$(call recall_memory "{\"ids\":[\"$id\"]}" | value 'r.results[0].content')" "The mill turns."
                equal "how many" "$(call memory_stats '{}' | value 'r.active_memories')" 1
                ;;
            ai-memory)
                equal "how many tools" "$count" 26
                id=$(call memory_store '{"title":"Mill","content":"The mill turns."}' | value 'r.id')
                equal "the row" "$(call memory_recall '{"context":"mill"}' | sed -n '3s/|.*//p')" "$id"
                equal "the content" "$(call memory_get "{\"id\":\"$id\"}" | value 'r.memory.content')" "The mill turns."
                equal "the prompts" "$(ask --method prompts/list | value 'r.prompts.map(p => p.name).join()')" "recall-first,memory-workflow"
                ;;
            i-am)
                equal "how many tools" "$count" 13
                equal "the action" "$(call remember '{"category":"project","key":"mill","value":"The mill turns."}' | value 'r.action')" ADD
                equal "the key" "$(call search '{"query":"turns"}' | value 'r.results[0].key')" mill
                equal "the value" "$(call recall '{"category":"project","key":"mill"}' | value 'r.entry.value')" "The mill turns."
                equal "the resources" "$(ask --method resources/list | value 'r.resources.map(x => x.uri).join()')" "memory://schema,memory://stats"
                ;;
        esac
    done
done
echo "inspector: all four tool sets, and the usual one over HTTP, are as they should be in both eras"
