# Installs the packages named as arguments on Debian or Ubuntu, as root. What it
# writes to keep services from starting is removed again at the end.
set -eu

policy=/usr/sbin/policy-rc.d
clusters=/etc/postgresql-common/createcluster.d
nocluster=$clusters/formsvc-test.conf
ours=

cleanup() {
	rm -f "$nocluster"
	rmdir "$clusters" 2>/dev/null || :
	[ -z "$ours" ] || rm -f "$policy"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

# Packages of servers start them; this file, when it exists, is asked first.
if [ ! -e "$policy" ]; then
	ours=yes
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
fi

# The server's package makes a database cluster unless it is told not to.
mkdir -p "$clusters"
echo 'create_main_cluster = false' >"$nocluster"

export DEBIAN_FRONTEND=noninteractive
# One unreachable source among many is no reason to stop: the install tells.
apt-get update || echo 'apt-get update failed; going on with the lists there are' >&2
apt-get install --yes --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
