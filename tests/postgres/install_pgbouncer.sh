#!/bin/sh
# Install pgbouncer, which some tests put before PostgreSQL, where that can be done without asking: as root on Debian or
# Ubuntu. Elsewhere, and when it fails, this only says so: the tests that need it then fail with what to do.
set -u

PATH="$PATH:/usr/sbin"
command -v pgbouncer >/dev/null && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "pgbouncer is missing and tests that need it will fail: install it with the system's package manager" >&2
    exit 0
fi

# The package would start a pgbouncer for the whole machine: forbid it for as long as the installation takes.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 1' INT TERM HUP
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
fi

install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends pgbouncer >/dev/null
}

echo "Installing pgbouncer for the tests"
install 2>/dev/null || { apt-get update -qq && install; } ||
    echo "pgbouncer could not be installed and tests that need it will fail: see the error above" >&2
exit 0
