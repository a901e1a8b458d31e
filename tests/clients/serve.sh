# Starts servers for the scripts beside, which are ended by `end_servers`.

servers=()

end_servers() {
    for server in ${servers[@]+"${servers[@]}"}; do
        kill "$server" 2> /dev/null || true
    done
    servers=()
    wait
}

# Starts a server, reads from what it says where it listens, and sets `url`: serve FOLDER COMMAND…
# FOLDER is for what is needed meanwhile.
serve() {
    local said line
    said=$(mktemp -u -p "$1" said.XXXXXX)
    shift
    mkfifo "$said"
    "$@" < /dev/null 2> "$said" &
    servers+=($!)
    exec {errors}< "$said"
    url=
    while IFS= read -r line <&"$errors"; do
        case $line in
            "serving "*" at http://"*)
                url=http://${line##* at http://}/mcp
                break
                ;;
        esac
        echo "$line" >&2
    done
    # Where nobody read on, the server would wait at one of its next words.
    cat <&"$errors" > /dev/null &
    exec {errors}<&-
    if [ -z "$url" ]; then
        echo "error: $1 does not listen" >&2
        exit 1
    fi
}
