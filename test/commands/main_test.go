// Package commands shows what each command does, on one real API server with its controllers and MetalLB's: a file is a command, or a
// subject of several. Every test has tenants, hosts and addresses of its own, and leaves nothing in the ledger; those whose subject is the
// whole cluster have a control plane of their own.
package commands

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, harness.Setup{
		Workloads: true, MetalLB: true, Gateways: true, Routes: true, Records: true, CRDs: []string{filepath.Join("..", "targets", "testdata")},
		Binary: true, Install: true, Config: sharedConfig, Emptied: true, Then: func(ctx context.Context) (err error) {
			if err := harness.AkashServices(ctx); err != nil {
				return err
			}
			operator.config, operator.kubeconfig, err = harness.Operator(ctx, "akash-net-grants", "akash-net-capacity")
			return err
		},
	}))
}

// operator has exactly the rights of the shipped roles for operators, and of those for wrong grants and for orders. Whoever
// runs a verb in these tests is this user.
var operator struct {
	config     *rest.Config
	kubeconfig string
}

// run runs the plugin as the operator. Installing, and deleting namespaces, takes an administrator.
func run(ctx context.Context, args ...string) result {
	if slices.Contains([]string{"install", "uninstall"}, args[0]) || slices.Contains(args, "--delete-namespace") {
		return harness.Run(ctx, args...)
	}
	return runAs(ctx, operator.kubeconfig, args...)
}

// sharedConfig is the configuration that is installed in the cluster.
const sharedConfig = `
apiVersion: net.akash.network/v1alpha1
kind: ProviderConfig
metadata: {name: provider}
spec:
  ip:
    ranges: [203.0.113.0/24, 2001:db8:cafe::/120]
`

// What the tests of this package ask of the cluster, and of its tenants.
var (
	find, need, remove, eventually = harness.Find, harness.Need, harness.Remove, harness.Eventually
	createAs, update, parse        = harness.Create, harness.Update, harness.Parse
	runAs, start, finish           = harness.RunAs, harness.Start, harness.Finish
	file, configure, kubeconfig    = harness.File, harness.Configure, harness.Kubeconfig
	newOwner, leaseOf, newDomain   = harness.NewOwner, harness.LeaseOf, harness.NewDomain
	newTenant, newHost             = harness.NewOwner, harness.NewHost
)

const (
	provider = harness.Provider
	deadline = harness.Deadline
)

type result = harness.Result

// mustRun runs the plugin, and fails the test unless the exit code is the one that is wanted.
func mustRun(t *testing.T, code int, args ...string) result {
	t.Helper()
	return run(t.Context(), args...).Exits(t, code)
}

// newNet are the first octets of 256 addresses that no other test has: "10.77.4.".
func newNet() string {
	n := harness.Number()
	return fmt.Sprintf("10.%d.%d.", 77+n/256, n%256)
}

// web exposes hosts over HTTP; more are further fields of the expose.
func web(service string, port int, hosts ...string) string {
	return fmt.Sprintf("{name: %s, expose: [{port: %d, as: 80, global: true, hosts: [%s]}]}", service, port, strings.Join(hosts, ", "))
}

// leased exposes a port on the address of an IP endpoint.
func leased(service, endpoint string, port int) string {
	return fmt.Sprintf("{name: %s, expose: [{port: 9000, as: %d, protocol: TCP, global: true, ip: %s}]}", service, port, endpoint)
}

// define writes a lease definition, with the IP endpoints that its services name.
func define(t *testing.T, id lease.ID, services ...string) string {
	t.Helper()
	var endpoints []string
	for _, found := range regexp.MustCompile(`ip: ([a-z-]+)`).FindAllStringSubmatch(strings.Join(services, ""), -1) {
		if item := "{name: " + found[1] + "}"; !slices.Contains(endpoints, item) {
			endpoints = append(endpoints, item)
		}
	}
	return harness.Define(t, id, services, endpoints)
}

// user runs the built program, as a process, with a kubeconfig and, where it is not empty, a configuration of its own.
type user struct {
	kubeconfig, config string
}

// admin may do everything, and works by the configuration that is installed.
func admin() user { return user{kubeconfig: harness.Plane.Kubeconfig} }

// with is the same user with the configuration of a file.
func (u user) with(config string) user {
	u.config = config
	return u
}

func (u user) command(ctx context.Context, args ...string) *exec.Cmd {
	if u.config != "" {
		args = append(args, "--config", u.config)
	}
	return harness.Command(ctx, u.kubeconfig, args...)
}

// run runs the program to its end.
func (u user) run(t *testing.T, args ...string) result {
	t.Helper()
	return u.execute(t.Context(), nil, args...)
}

// do runs the program, which has to succeed.
func (u user) do(t *testing.T, args ...string) result {
	t.Helper()
	return u.run(t, args...).Exits(t, 0)
}

func (u user) execute(ctx context.Context, stdin []byte, args ...string) result {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	cmd := u.command(ctx, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	return finish(cmd)
}
