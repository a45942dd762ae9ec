// Package verbs shows what each verb of the ledger does, on a real API server with MetalLB's
// controller: reserve, check, transfer, release, explain, repair and the guard. Every test has
// tenants and hosts of its own.
package verbs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin"
)

var plane *testbed.ControlPlane

func TestMain(m *testing.M) {
	os.Exit(testbed.Main(m, func(ctx context.Context, p *testbed.ControlPlane) error {
		plane = p
		gateways, err := programs.GatewayAPICRDs(ctx)
		if err != nil {
			return err
		}
		records, err := programs.DNSCRDs(ctx)
		if err != nil {
			return err
		}
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return p.StartControllerManager(context.WithoutCancel(ctx)) })
		group.Go(func() error {
			if err := p.StartMetalLB(context.WithoutCancel(ctx)); err != nil {
				return err
			}
			return p.InstallCRDs(append(records, gateways)...)
		})
		if err := group.Wait(); err != nil {
			return err
		}
		if r := run(context.WithoutCancel(ctx), "install"); r.code != 0 {
			return fmt.Errorf("%s", r)
		}
		return nil
	}))
}

// result is how a command ended and what it printed.
type result struct {
	args           []string
	code           int
	stdout, stderr string
}

func (r result) String() string {
	return fmt.Sprintf("%s: exit code %d\n--- stdout\n%s--- stderr\n%s", strings.Join(r.args, " "), r.code, r.stdout, r.stderr)
}

// run runs the plugin in this process, as the administrator.
func run(ctx context.Context, args ...string) result {
	return runAs(ctx, plane.Kubeconfig, args...)
}

func runAs(ctx context.Context, kubeconfig string, args ...string) result {
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
	code := plugin.Main(ctx, append([]string{"kubectl-akash_net", "--kubeconfig", kubeconfig}, args...), streams)
	return result{args: args, code: code, stdout: out.String(), stderr: errOut.String()}
}

// mustRun runs the plugin, and fails the test unless the exit code is the one that is wanted.
func mustRun(t *testing.T, code int, args ...string) result {
	t.Helper()
	r := run(t.Context(), args...)
	if r.code != code {
		t.Fatalf("want exit code %d: %s", code, r)
	}
	return r
}

// prints fails the test unless each text is on standard output.
func (r result) prints(t *testing.T, texts ...string) result {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.stdout, text) {
			t.Errorf("standard output has no %q: %s", text, r)
		}
	}
	return r
}

// says fails the test unless each text is on standard error.
func (r result) says(t *testing.T, texts ...string) result {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.stderr, text) {
			t.Errorf("standard error has no %q: %s", text, r)
		}
	}
	return r
}

const provider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"

// number is a number that no other test has.
var number atomic.Int64

// newOwner is an owner that no other test has.
func newOwner() string {
	return "akash1" + lease.Hash(fmt.Sprint("tenant ", number.Add(1)))[:38]
}

// leaseOf is a lease of the owner; dseq tells the owner's deployments apart.
func leaseOf(owner string, dseq uint64) lease.ID {
	return lease.ID{Owner: owner, DSeq: dseq, GSeq: 1, OSeq: 1, Provider: provider}
}

// newDomain is a domain that no other test has.
func newDomain() string { return fmt.Sprintf("n%d.example.com", number.Add(1)) }

// newNet are the first octets of 256 addresses that no other test has: "10.77.4.".
func newNet() string {
	n := number.Add(1)
	return fmt.Sprintf("10.%d.%d.", 77+n/256, n%256)
}

// file writes a text to a new file.
func file(t *testing.T, text string) string {
	t.Helper()
	f, err := os.CreateTemp(plane.Dir, "file-*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // the write is checked
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// configure writes a provider's configuration; the lines belong to its spec.
func configure(t *testing.T, lines ...string) string {
	t.Helper()
	return file(t, "apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nmetadata: {name: provider}\nspec:\n  "+strings.Join(lines, "\n  ")+"\n")
}

// web exposes hosts over HTTP; more are further fields of the expose.
func web(service string, port int, hosts ...string) string {
	return fmt.Sprintf("{name: %s, expose: [{port: %d, as: 80, global: true, hosts: [%s]}]}", service, port, strings.Join(hosts, ", "))
}

// leased exposes a port on the address of an IP endpoint.
func leased(service, endpoint string, port int) string {
	return fmt.Sprintf("{name: %s, expose: [{port: 9000, as: %d, protocol: TCP, global: true, ip: %s}]}", service, port, endpoint)
}

// define writes a lease definition.
func define(t *testing.T, id lease.ID, services ...string) string {
	t.Helper()
	endpoints := ""
	for _, found := range regexp.MustCompile(`ip: ([a-z-]+)`).FindAllStringSubmatch(strings.Join(services, ""), -1) {
		if item := "{name: " + found[1] + "}"; !strings.Contains(endpoints, item) {
			endpoints += ", " + item
		}
	}
	if endpoints != "" {
		endpoints = "  ipEndpoints: [" + endpoints[2:] + "]\n"
	}
	return file(t, fmt.Sprintf(`apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata: {name: test}
spec:
  lease: {owner: %s, dseq: %d, gseq: %d, oseq: %d, provider: %s}
%s  services:
  - %s
`, id.Owner, id.DSeq, id.GSeq, id.OSeq, id.Provider, endpoints, strings.Join(services, "\n  - ")))
}
