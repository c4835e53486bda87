#!/usr/bin/env bash
# Makes the demo's text once: the King James Bible from Debian's package bible-kjv, a verse a line, without verse marks ("Ge1:1 ").
# Writes build/data/bible.txt, 4.1 MB, if it is not there.
set -euo pipefail
export LC_ALL=C

cd "$(dirname "$0")/.."
file=build/data/bible.txt
[[ -e $file ]] && exit 0
if ! command -v bible >/dev/null; then
  echo "demo text: the command \"bible\" is missing: cloud/install.sh run (Debian's package bible-kjv), or set data.path to another text" >&2
  exit 1
fi

mkdir -p "$(dirname "$file")"
aside=$(mktemp "$file.XXXXXX")
trap 'rm -f "$aside"' EXIT
bible -f -l 1000 'Gen1:1-Rev22:21' </dev/null | sed -E 's/^[1-3]?[A-Za-z]+[0-9]+:[0-9]+ //' >"$aside"

verses=$(wc -l <"$aside")
size=$(wc -c <"$aside")
if ((verses != 31102 || size < 4100000 || size > 4200000)); then
  echo "demo text: \"bible\" printed $verses lines, $size bytes; 31102 verses in about 4.1 MB were expected" >&2
  exit 1
fi
chmod 644 "$aside"
mv "$aside" "$file"
echo "demo text: $file ($size bytes)"
