#!/usr/bin/env bash
# Two tenants lease host names and addresses from one provider. First what needs no cluster, while the
# programs of a control plane are built or fetched; then the same on a real API server without nodes, which
# goes on running until `make demo-down`.
#
#   CLUSTER=current      use the cluster of kubectl's current context, after a question
#   YES=1                do not ask
#   TESTBED_DIR=FOLDER   the control plane's folder in place of .cache/demo
#   DEMO_BIN=FOLDER      where the plugin is, in place of bin
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export PATH="${DEMO_BIN:-$PWD/bin}:$PATH"

testbed() { go run ./hack/testbed/cmd/testbed "$@"; }

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

# offline is what the plugin does without a cluster.
offline() {
	say "What needs no cluster. The objects of a lease, for any pipeline:"
	run kubectl-akash_net render -f manifests/examples/deploy.yaml --lease "$shop" --config manifests/examples/provider-config.yaml --ledger manifests/examples
	say "MetalLB's pools, which all leases share:"
	run kubectl-akash_net render pools --config manifests/examples/provider-config.yaml
	say "Which of the routes in a folder would be admitted, and why the others are not:"
	run kubectl-akash_net state routes -f manifests/examples/live-routes.yaml
}

# choose makes sure that the cluster of the current context is meant, and fit for the demo.
choose() {
	local context
	context="$(kubectl config current-context)"
	if [ -z "${YES:-}" ]; then
		printf '\nThe demo installs the ledger into the cluster of context "%s" and lets two tenants lease there. Go on? [y/N] ' "$context"
		local answer=""
		read -r answer || true
		case "$answer" in
		y | Y | yes) ;;
		*)
			echo "demo: nothing was changed" >&2
			exit 1
			;;
		esac
	fi
	if ! kubectl get customresourcedefinition ipaddresspools.metallb.io -o name >/dev/null; then
		echo "demo: the cluster of context $context has no MetalLB, which the examples need (https://metallb.io)" >&2
		exit 1
	fi
	if kubectl -n akash-net get configmap config -o name >/dev/null 2>&1; then
		echo "demo: the cluster of context $context is a provider's already: its configuration (configmap akash-net/config) would be replaced" >&2
		exit 1
	fi
}

shop=akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0
blog=akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn/5905802/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0

case "${CLUSTER:-}" in
current)
	offline
	choose
	;;
"")
	log="$(mktemp)"
	trap 'kill "$preparing" 2>/dev/null || true; rm -f "$log"' EXIT
	testbed prepare >"$log" 2>&1 &
	preparing=$!
	offline
	say "A control plane: etcd, kube-apiserver, kube-controller-manager, MetalLB's controller. What is missing is fetched or built."
	tail -n +1 -f --pid "$preparing" "$log" 2>/dev/null || while kill -0 "$preparing" 2>/dev/null; do sleep 5 && tail -n 1 "$log"; done
	wait "$preparing"
	trap 'rm -f "$log"' EXIT
	settings="$(testbed up)"
	eval "$settings"
	;;
*)
	echo "demo: CLUSTER is $CLUSTER; leave it out, or say CLUSTER=current" >&2
	exit 2
	;;
esac

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

if [ "${CLUSTER:-}" = current ]; then
	say "The first tenant's lease is left, for you to look at. To remove it and the installation:"
	printf '%s\n' "kubectl akash-net release $shop" "kubectl akash-net uninstall"
	exit
fi
say "The cluster goes on running (make demo-down ends it). To go on by hand:"
printf '%s\n' "$settings"
