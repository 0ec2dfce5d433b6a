#!/bin/bash
# Runs tox on a machine that has nothing but python3 with venv: fetches tox
# into a private venv (.venv in the repository) and hands its arguments to it.
#
#   tools/tox.sh            the unit tests, linters, documents: all but the lab
#   tools/tox.sh -e lab     a cloud on this machine, the scenarios on it
#
# As root it also installs the Debian packages that bindep.txt lists for the
# profile "test" and for profiles named like the environments that -e names;
# the lab installs its own.

set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv="$repo/.venv"
tools=("tox>=4.11,<5" "bindep>=2.11,<3")

say() {
    echo "tox.sh: $*"
}

fail() {
    echo "tox.sh: $*" >&2
    exit 1
}

python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
    || fail "python3 3.11 or newer is needed, this is" \
        "$(python3 --version 2>&1)"

# The stamp is written last: a venv left half-made by an interrupted run is
# made anew.
if [[ "$(cat "$venv/tools" 2>/dev/null)" != "${tools[*]}" ]] \
        || ! "$venv/bin/python" -c '' 2>/dev/null; then
    say "installing ${tools[*]} from PyPI into $venv"
    rm -rf "$venv"
    python3 -m venv "$venv" \
        || fail "python3 can't make a venv: install python3-venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        "${tools[@]}"
    echo "${tools[*]}" > "$venv/tools"
fi

cd "$repo"

profiles=(test)
for ((number = 1; number < $#; number++)); do
    if [[ "${!number}" == -e ]]; then
        value=$((number + 1))
        profiles+=(${!value//,/ })
    fi
done

# bindep ends with 1 and the names where something is missing.
if missing=$("$venv/bin/bindep" --brief "${profiles[@]}"); then
    :
elif [[ -n "$missing" && $EUID -eq 0 ]] && command -v apt-get >/dev/null; then
    say "installing from Debian:" $missing
    # Without starting any service of theirs.
    roles/format_lab_host/files/install-packages $missing >/dev/null
else
    fail "not root, or not Debian; install first:" $missing
fi

# pbr takes the version from git; a source tree without history has none.
if ! git rev-parse --quiet --verify HEAD >/dev/null 2>&1; then
    say "no git history: the package gets the version 0.0.0"
    export PBR_VERSION=0.0.0
fi

say "tox $*"
exec "$venv/bin/tox" "$@"
