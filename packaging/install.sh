#!/bin/sh
# Installs hob from its tarball, without root: program, man pages, completions and the systemd unit.
#
#   sh install.sh hob-0.1.0-x86_64-linux.tar.gz        a file, with SHA256SUMS beside it
#   sh install.sh https://HOST/hob-….tar.gz            fetched with curl, with its SHA256SUMS
#   sh install.sh --sha256 HEX FILE                    with a checksum from elsewhere
#   sh install.sh --uninstall                          removes what it installed
#
# PREFIX is the folder to install below; ~/.local if it is not set. Nothing is unpacked before its
# checksum was found right.
set -eu

PREFIX="${PREFIX:-${HOME:?HOME is not set}/.local}"
LIST="$PREFIX/share/doc/hob/installed-files"

fail() {
    echo "error: $1" >&2
    exit 1
}

uninstall() {
    [ -f "$LIST" ] || fail "nothing is installed below $PREFIX"
    if [ -x "$PREFIX/bin/hob" ] && [ "${1:-}" != "--keep-running" ]; then
        "$PREFIX/bin/hob" uninstall --yes || true
    fi
    while IFS= read -r file; do
        rm -f "$PREFIX/$file"
        # Folders that are empty now; others belong to somebody else.
        folder="$(dirname "$file")"
        while [ "$folder" != "." ]; do
            rmdir "$PREFIX/$folder" 2>/dev/null || break
            folder="$(dirname "$folder")"
        done
    done < "$LIST"
    rm -f "$LIST"
    rmdir -p "$PREFIX/share/doc/hob" 2>/dev/null || true
    echo "Removed hob from $PREFIX."
}

fetch() {
    case "$1" in
        https://*) curl --proto '=https' --fail --silent --show-error --location --output "$2" "$1" ;;
        *://*) fail "only https is fetched" ;;
        *) cp "$1" "$2" ;;
    esac
}

SUM=""
case "${1:-}" in
    --uninstall) uninstall; exit 0 ;;
    --sha256) SUM="${2:?--sha256 takes a checksum}"; shift 2 ;;
esac
SOURCE="${1:?usage: install.sh TARBALL}"
NAME="$(basename "$SOURCE")"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT

fetch "$SOURCE" "$WORK/$NAME" || fail "$SOURCE cannot be read"
if [ -z "$SUM" ]; then
    fetch "$(dirname "$SOURCE")/SHA256SUMS" "$WORK/SHA256SUMS" || fail "there is no SHA256SUMS beside $SOURCE"
    SUM="$(awk -v name="$NAME" '$2 == name || $2 == "*" name { print $1 }' "$WORK/SHA256SUMS")"
    [ -n "$SUM" ] || fail "SHA256SUMS does not name $NAME"
fi
FOUND="$(sha256sum "$WORK/$NAME" | cut -d ' ' -f 1)"
[ "$FOUND" = "$SUM" ] || fail "the checksum of $NAME is wrong; nothing was installed"

mkdir "$WORK/tree"
tar -xzf "$WORK/$NAME" -C "$WORK/tree" --strip-components=1
# An earlier version is replaced; its daemon goes on until 'hob restart'.
[ ! -f "$LIST" ] || uninstall --keep-running > /dev/null
(cd "$WORK/tree" && find bin lib share -type f) > "$WORK/files"
while IFS= read -r file; do
    mkdir -p "$PREFIX/$(dirname "$file")"
    # Renamed into place, so that a program that runs is not written to.
    cp "$WORK/tree/$file" "$PREFIX/$file.new"
    mv -f "$PREFIX/$file.new" "$PREFIX/$file"
done < "$WORK/files"
mkdir -p "$(dirname "$LIST")"
cp "$WORK/files" "$LIST"
UNIT="$PREFIX/lib/systemd/user/hob.service"
sed "s|/usr/bin/hob|$PREFIX/bin/hob|" "$UNIT" > "$UNIT.new" && mv "$UNIT.new" "$UNIT"

echo "Installed hob below $PREFIX."
case ":$PATH:" in
    *":$PREFIX/bin:"*) ;;
    *) echo "Add it to your path: export PATH=\"$PREFIX/bin:\$PATH\"" ;;
esac
echo "Begin with: hob ask \"what is the capital of France?\""
