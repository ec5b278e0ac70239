#!/bin/sh
# Install what some tests need of the system, where that can be done without asking: as root on Debian or Ubuntu.
# pgbouncer is a pooler before PostgreSQL, libfaketime a clock under it that can be set, prometheus reads metrics and
# brings promtool. Elsewhere, and when it fails, this only says so: the tests that need them then fail with what to do.
set -u

PATH="$PATH:/usr/sbin"
missing=""
command -v pgbouncer >/dev/null || missing="pgbouncer"
[ -n "$(find /usr/lib /usr/lib64 -maxdepth 3 -name libfaketime.so.1 2>/dev/null)" ] || missing="$missing libfaketime"
command -v prometheus >/dev/null && command -v promtool >/dev/null || missing="$missing prometheus"
[ -z "$missing" ] && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing, and tests that need it will fail: $missing; install it with the system's package manager" >&2
    exit 0
fi

# A package would start its server for the whole machine: forbid it for as long as the installation takes.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 1' INT TERM HUP
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
fi

install() {
    # shellcheck disable=SC2086 # one word per package
    DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends $missing >/dev/null
}

echo "Installing for the tests: $missing"
install 2>/dev/null || { apt-get update -qq && install; } ||
    echo "could not be installed, and tests that need it will fail: $missing; see the error above" >&2
exit 0
