#!/bin/sh
# Install what some tests use: a browser, Slurm, systemd-analyze, groff and mandoc. Debian, as root.
# No daemon is started: the tests start their own, with folders and ports of their own.
set -eu
missing=
for package in chromium slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge slurmdbd \
    mariadb-server lua5.3 systemd groff-base mandoc; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
        missing="$missing $package"
done
[ -n "$missing" ] || exit 0
# Installing a Debian package starts its daemon unless this program forbids it.
if [ ! -e /usr/sbin/policy-rc.d ]; then
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT INT TERM
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
    chmod 755 /usr/sbin/policy-rc.d
fi
apt-get update
# shellcheck disable=SC2086 - a list of names
DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends $missing
