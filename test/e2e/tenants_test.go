package e2e

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// number is a number that no other test has.
var number atomic.Int64

// newTenant is an owner's address that no other test has.
func newTenant() string {
	return "akash1" + lease.Hash(fmt.Sprint("tenant ", number.Add(1)))[:38]
}

const provider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"

// leaseOf is a lease of the owner; dseq tells the owner's deployments apart.
func leaseOf(owner string, dseq uint64) lease.ID {
	return lease.ID{Owner: owner, DSeq: dseq, GSeq: 1, OSeq: 1, Provider: provider}
}

// newHost is a host name that no other test has.
func newHost(word string) string { return fmt.Sprintf("%s.n%d.example.com", word, number.Add(1)) }

// newRanges are the first octets of 256 addresses that no other test has, for IPv4 ("10.77.4.")
// and for IPv6 ("2001:db8:4::").
func newRanges() (v4, v6 string) {
	n := number.Add(1)
	return fmt.Sprintf("10.%d.%d.", 77+n/256, n%256), fmt.Sprintf("2001:db8:%x::", n)
}

// part is a part of a lease definition, in YAML.
type part struct{ service, endpoint string }

// service is a workload with what it exposes.
func service(name string, exposes ...string) part {
	return part{service: fmt.Sprintf("  - {name: %s, expose: [%s]}\n", name, strings.Join(exposes, ", "))}
}

// web is a workload that serves hosts over HTTP.
func web(hosts ...string) part { return service("web", served(hosts...)) }

// served exposes hosts over HTTP.
func served(hosts ...string) string {
	return fmt.Sprintf("{port: 8080, as: 80, global: true, hosts: [%s]}", strings.Join(hosts, ", "))
}

// leased exposes a port on the address of an IP endpoint.
func leased(endpoint, protocol string, port int) string {
	return fmt.Sprintf("{port: 9000, as: %d, protocol: %s, global: true, ip: %s}", port, protocol, endpoint)
}

// endpoint is an IP endpoint; without addresses the ledger gives one.
func endpoint(name string, addresses ...string) part {
	return part{endpoint: fmt.Sprintf("  - {name: %s, addresses: [%s]}\n", name, strings.Join(quoted(addresses), ", "))}
}

func quoted(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = `"` + text + `"`
	}
	return out
}

// define writes a lease definition and returns the file's path.
func define(t *testing.T, id lease.ID, parts ...part) string {
	t.Helper()
	var services, endpoints strings.Builder
	for _, p := range parts {
		services.WriteString(p.service)
		endpoints.WriteString(p.endpoint)
	}
	text := fmt.Sprintf(`apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata: {name: test}
spec:
  lease: {owner: %s, dseq: %d, gseq: %d, oseq: %d, provider: %s}
  services:
%s`, id.Owner, id.DSeq, id.GSeq, id.OSeq, id.Provider, services.String())
	if endpoints.Len() > 0 {
		text += "  ipEndpoints:\n" + endpoints.String()
	}
	return file(t, text)
}

// configure writes a provider's configuration; the lines belong to its spec, indented by two.
func configure(t *testing.T, lines ...string) string {
	t.Helper()
	return file(t, `apiVersion: net.akash.network/v1alpha1
kind: ProviderConfig
metadata: {name: provider}
spec:
  `+strings.Join(lines, "\n  ")+"\n")
}

// file writes a text to a new file. Its path has no comma, at which -f would split it.
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
