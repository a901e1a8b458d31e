#!/bin/sh
# Installs memdir for one user, or removes it: sh install.sh [OPTION…]
#
# It downloads an archive, the list of checksums and its signature, checks both, and copies files below
# the prefix. It asks before it changes the profile of a shell. It needs curl or wget, and tar.
set -eu

# A release fills these in.
version=""
from=""
key=""

prefix=${MEMDIR_PREFIX:-$HOME/.local}
yes=0
profile=1
uninstall=0
require_signature=0
begin='# >>> memdir >>>'
end='# <<< memdir <<<'

say() { printf '%s\n' "$*" >&2; }

fail() {
    say "error: $1"
    [ $# = 1 ] || say "hint: $2"
    exit 1
}

has() { command -v "$1" > /dev/null 2>&1; }

# Asks a question of a person; where there is none the answer is no.
ask() {
    [ "$yes" = 0 ] || return 0
    answer=""
    if [ -t 0 ]; then
        printf '%s [y/N] ' "$1" >&2
        read -r answer || true
    elif (: < /dev/tty) 2> /dev/null; then
        printf '%s [y/N] ' "$1" >&2
        read -r answer < /dev/tty || true
    fi
    case $answer in [yY]*) return 0 ;; *) return 1 ;; esac
}

# download NAME: brings a file of the release into the working folder; fails if it is not there.
download() {
    case $from in
    http://* | https://*)
        if has curl; then
            curl --fail --silent --show-error --location --output "$work/$1" "$from/$1"
        elif has wget; then
            wget -q -O "$work/$1" "$from/$1"
        else
            fail "there is neither curl nor wget" "Install one of them, or download the files and give their folder to --from."
        fi
        ;;
    file://*) cp "${from#file://}/$1" "$work/$1" ;;
    *) cp "$from/$1" "$work/$1" ;;
    esac
}

sum() {
    if has sha256sum; then
        sha256sum "$1"
    elif has shasum; then
        shasum -a 256 "$1"
    else
        openssl dgst -r -sha256 "$1"
    fi | cut -d ' ' -f 1
}

# Prints the checksum that the release's list has for a file.
expected_sum() {
    sed -n "s/^\([0-9a-f]\{64\}\) [ *]$1\$/\1/p" "$work/$sums"
}

# Checks a signature of minisign with OpenSSL 3: openssl_verify FILE KEY
#
# Key and signature are Ed25519; line 2 of the signature holds two letters, the key's id, and the signature of
# the BLAKE2b-512 of the file.
openssl_verify() {
    # 12 bytes say "a public key of Ed25519" in DER.
    printf '\060\052\060\005\006\003\053\145\160\003\041\000' > "$work/key.der"
    printf '%s\n' "$2" | openssl base64 -d -A | tail -c 32 >> "$work/key.der"
    sed -n 2p "$1.minisig" | openssl base64 -d -A > "$work/signature"
    [ "$(head -c 2 "$work/signature")" = ED ] || return 1
    tail -c 64 "$work/signature" > "$work/signature.raw"
    openssl dgst -blake2b512 -binary "$1" > "$work/hash"
    openssl pkeyutl -verify -pubin -keyform DER -inkey "$work/key.der" -rawin \
        -in "$work/hash" -sigfile "$work/signature.raw" > /dev/null 2>&1
}

# Says why the signature was not checked, or stops.
unsigned() {
    [ "$require_signature" = 0 ] || fail "the signature cannot be checked: $1"
    say "note: the signature was not checked, only the sum: $1"
}

check_signature() {
    [ -n "$key" ] || { unsigned "this script knows no key"; return; }
    download "$sums.minisig" || fail "the release has no signature"
    if has minisign; then
        minisign -Vqm "$work/$sums" -x "$work/$sums.minisig" -P "$key" > /dev/null 2>&1 ||
            fail "the signature of $sums is wrong" "Do not use these files, and tell the project."
    elif has openssl && openssl version | grep -q '^OpenSSL [3-9]'; then
        openssl_verify "$work/$sums" "$key" ||
            fail "the signature of $sums is wrong" "Do not use these files, and tell the project."
    else
        unsigned "there is neither minisign nor OpenSSL 3"
        return
    fi
    say "the signature of $sums is right"
}

# Prints the targets that may run on this machine, the best first.
targets() {
    cpu=$(uname -m)
    case $cpu in
    amd64) cpu=x86_64 ;;
    arm64) cpu=aarch64 ;;
    esac
    case $(uname -s) in
    Linux)
        if getconf GNU_LIBC_VERSION > /dev/null 2>&1; then
            echo "$cpu-unknown-linux-gnu"
        fi
        echo "$cpu-unknown-linux-musl"
        ;;
    Darwin) echo "$cpu-apple-darwin" ;;
    *) fail "there is no archive for $(uname -s)" "On Windows run install.ps1; elsewhere build it: cargo install memdir --locked" ;;
    esac
}

# Unpacks the archive of a target into the working folder; fails if there is none, or its program does not run here.
fetch() {
    archive=memdir-$version-$1.tar.xz
    expected=$(expected_sum "$archive")
    if [ -z "$expected" ] || ! has xz; then
        archive=memdir-$version-$1.tar.gz
        expected=$(expected_sum "$archive")
    fi
    [ -n "$expected" ] || return 1
    download "$archive" || fail "cannot download $from/$archive"
    [ "$(sum "$work/$archive")" = "$expected" ] ||
        fail "the checksum of $archive is wrong" "The download was cut or changed: try again, and tell the project if it stays so."
    (cd "$work" && tar -xf "$archive")
    unpacked=$work/memdir-$version-$1
    # macOS starts no unsigned program of an archive that a browser brought; this one's sum was right.
    if [ "$(uname -s)" = Darwin ] && has xattr; then
        xattr -d com.apple.quarantine "$unpacked/bin/memdir" 2> /dev/null || true
    fi
    "$unpacked/bin/memdir" --version > /dev/null 2>&1
}

# Copies what was unpacked below the prefix, each file whole or not at all, and notes its name.
copy() {
    (cd "$unpacked" && find . -type f | sed 's|^\./||' | sort) > "$work/files"
    while IFS= read -r file; do
        if [ -e "$prefix/$file" ] && ! grep -qxF "$file" "$list" 2> /dev/null; then
            fail "$prefix/$file is there and is not from this script" "Remove it, or choose another --prefix."
        fi
    done < "$work/files"
    while IFS= read -r file; do
        mkdir -p "$prefix/$(dirname "$file")"
        cp -p "$unpacked/$file" "$prefix/$file.new"
        mv -f "$prefix/$file.new" "$prefix/$file"
    done < "$work/files"
    if [ -f "$list" ]; then
        # What the release before had and this one has not.
        grep -vxFf "$work/files" "$list" | while IFS= read -r file; do rm -f "$prefix/$file"; done
    fi
    cp "$work/files" "$list.new"
    mv -f "$list.new" "$list"
}

# The file in which the user's shell looks for settings.
profile_of_shell() {
    case ${SHELL##*/} in
    zsh) echo "${ZDOTDIR:-$HOME}/.zshrc" ;;
    bash) if [ "$(uname -s)" = Darwin ]; then echo "$HOME/.bash_profile"; else echo "$HOME/.bashrc"; fi ;;
    fish) echo "${XDG_CONFIG_HOME:-$HOME/.config}/fish/conf.d/memdir.fish" ;;
    *) echo "$HOME/.profile" ;;
    esac
}

add_to_path() {
    case :$PATH: in *:"$prefix/bin":*) return ;; esac
    file=$(profile_of_shell)
    line="export PATH=\"$prefix/bin:\$PATH\""
    case $file in *.fish) line="fish_add_path --path \"$prefix/bin\"" ;; esac
    if grep -qxF "$begin" "$file" 2> /dev/null; then
        return
    fi
    if [ "$profile" = 1 ] && ask "$prefix/bin is not in PATH. Add it in $file?"; then
        mkdir -p "$(dirname "$file")"
        # A last line without an end would take the first of these.
        if [ -s "$file" ] && [ -n "$(tail -c 1 "$file")" ]; then
            echo >> "$file"
        fi
        printf '%s\n%s\n%s\n' "$begin" "$line" "$end" >> "$file"
        say "$file has it; a new shell finds memdir"
    else
        say "$prefix/bin is not in PATH. To find memdir, add this line to $file:"
        say "    $line"
    fi
}

# Takes the lines that `add_to_path` added out of a file; the others keep their bytes.
remove_from() {
    [ -f "$1" ] && grep -qxF "$begin" "$1" || return 0
    grep -qxF "$end" "$1" || fail "$1 has the line '$begin' and not '$end'" "Remove memdir's lines by hand, then run this again."
    # In place, so that links and rights stay.
    sed "/^$begin\$/,/^$end\$/d" "$1" > "$work/profile"
    cp -p "$1" "$1.before-memdir-left"
    cat "$work/profile" > "$1"
    rm -f "$1.before-memdir-left"
    [ -s "$1" ] || [ "${1##*/}" != memdir.fish ] || rm -f "$1"
    say "took memdir out of $1"
}

remove() {
    [ -f "$list" ] || fail "nothing below $prefix was installed by this script" "Say where with --prefix."
    memdir=$prefix/bin/memdir
    store=$("$memdir" path 2> /dev/null || true)
    if ask "Take memdir out of the clients of agents that it was set up for, and stop its service?"; then
        "$memdir" setup --uninstall --yes >&2 || say "note: memdir setup --uninstall failed"
        "$memdir" serve --uninstall-service > /dev/null 2>&1 || true
    fi
    sed 's|^|./|' "$list" | while IFS= read -r file; do
        rm -f "$prefix/$file"
        echo "${file%/*}"
    done | sort -ru > "$work/folders"
    rm -f "$list"
    while IFS= read -r folder; do
        # Those that are empty now, up to the prefix.
        (cd "$prefix" && rmdir -p "$folder" 2> /dev/null) || true
    done < "$work/folders"
    for file in "$(profile_of_shell)" "$HOME/.bashrc" "$HOME/.bash_profile" "$HOME/.zshrc" "$HOME/.profile"; do
        remove_from "$file"
    done
    say "memdir is removed. Your memories stay${store:+ in $store}, your settings in ${XDG_CONFIG_HOME:-$HOME/.config}/memdir."
}

main() {
    while [ $# -gt 0 ]; do
        case $1 in
        --prefix | --version | --from | --key)
            [ $# -gt 1 ] || fail "$1 wants a value"
            case $1 in
            --prefix) prefix=$2 ;;
            --version) version=$2 ;;
            --from) from=$2 ;;
            --key) key=$2 ;;
            esac
            shift
            ;;
        --require-signature) require_signature=1 ;;
        --no-profile) profile=0 ;;
        --yes) yes=1 ;;
        --uninstall) uninstall=1 ;;
        -h | --help) usage; return ;;
        *) fail "there is no option $1" "sh install.sh --help lists them." ;;
        esac
        shift
    done
    case $prefix in /*) ;; *) prefix=$(pwd)/$prefix ;; esac
    list=$prefix/share/doc/memdir/installed
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM
    if [ "$uninstall" = 1 ]; then
        remove
        return
    fi
    if [ -z "$version" ] || [ -z "$from" ]; then
        fail "this copy of install.sh belongs to no release" "Take it from a release, or give --version and --from."
    fi
    sums=memdir-$version.sha256
    download "$sums" || fail "cannot download $from/$sums"
    check_signature
    for target in $(targets); do
        if fetch "$target"; then
            copy
            say "$("$prefix/bin/memdir" --version) is in $prefix/bin"
            add_to_path
            return
        fi
    done
    fail "no archive of memdir $version runs on this machine ($(uname -sm))" "Build it: cargo install memdir --locked"
}

usage() {
    cat << 'END'
Installs memdir for one user, or removes it: sh install.sh [OPTION…]

  --prefix DIR          where to: DIR/bin, DIR/share [default: ~/.local]
  --version VERSION     which release [default: that of this script]
  --from PLACE          folder or address that holds the release's files
  --key KEY             the public key of minisign that must have signed the checksums
  --require-signature   stop where the signature cannot be checked
  --no-profile          leave the shell's profile alone, and do not ask
  --yes                 answer every question with yes
  --uninstall           remove what this script installed; memories stay
END
}

# The last line, so that a download that was cut runs nothing.
main "$@"
