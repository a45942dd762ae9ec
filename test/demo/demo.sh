#!/usr/bin/env bash
# Two tenants lease host names and addresses from one provider, on a real control plane without
# nodes. The cluster goes on running; `make demo-down` ends it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

testbed() { go run ./test/testbed/cmd/testbed "$@"; }

# say prints what comes next; run prints a command and runs it.
say() { printf '\n# %s\n' "$*"; }
run() {
	printf '\n$ %s\n' "$*"
	"$@"
}

# refused runs a command that must end with exit code 4: held by another owner.
refused() {
	local code=0
	run "$@" || code=$?
	echo "(exit code $code)"
	if [ "$code" -ne 4 ]; then
		echo "demo: expected exit code 4, held by another owner" >&2
		exit 1
	fi
}

testbed up
settings="$(testbed env)"
eval "$settings"

shop=akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0
blog=akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn/5905802/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0

say "The provider prepares the cluster and names the addresses that it leases."
run kubectl akash-net install --config manifests/examples/provider-config.yaml

say "Two tenants: each gets a host name and an address."
run kubectl akash-net apply -f manifests/examples/shop.yaml
run kubectl akash-net apply -f manifests/examples/blog.yaml

say "Who holds what."
run kubectl akash-net state
say "The ledger is plain Kubernetes, and MetalLB has given the addresses."
run kubectl -n akash-net get leases
run kubectl get services,ingresses -A -l akash.network=true

say "The second tenant asks for a host name of the first. Nothing is changed."
refused kubectl akash-net apply -f manifests/examples/thief.yaml

say "The same definition again: nothing to do, nothing is written."
run kubectl akash-net apply -f manifests/examples/shop.yaml

say "The second tenant leaves; the first keeps what it has."
run kubectl akash-net release "$blog"
run kubectl akash-net state

say "The cluster goes on running (make demo-down ends it). To go on by hand:"
printf '%s\n' "$settings"
