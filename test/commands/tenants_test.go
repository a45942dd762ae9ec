package commands

import (
	"fmt"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// newRanges are the first octets of 256 addresses that no other test has, for IPv4 ("10.77.4.")
// and for IPv6 ("2001:db8:4::").
func newRanges() (v4, v6 string) {
	n := harness.Number()
	return fmt.Sprintf("10.%d.%d.", 77+n/256, n%256), fmt.Sprintf("2001:db8:%x::", n)
}

// part is a part of a lease definition, in YAML.
type part struct{ service, endpoint string }

// service is a workload with what it exposes.
func service(name string, exposes ...string) part {
	return part{service: fmt.Sprintf("{name: %s, expose: [%s]}", name, strings.Join(exposes, ", "))}
}

// web is a workload that serves hosts over HTTP.
func webPart(hosts ...string) part { return service("web", served(hosts...)) }

// served exposes hosts over HTTP.
func served(hosts ...string) string {
	return fmt.Sprintf("{port: 8080, as: 80, global: true, hosts: [%s]}", strings.Join(hosts, ", "))
}

// leased exposes a port on the address of an IP endpoint.
func leasedPart(endpoint, protocol string, port int) string {
	return fmt.Sprintf("{port: 9000, as: %d, protocol: %s, global: true, ip: %s}", port, protocol, endpoint)
}

// endpoint is an IP endpoint; without addresses the ledger gives one.
func endpoint(name string, addresses ...string) part {
	return part{endpoint: fmt.Sprintf("{name: %s, addresses: [%s]}", name, strings.Join(quoted(addresses), ", "))}
}

func quoted(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = `"` + text + `"`
	}
	return out
}

// define writes a lease definition and returns the file's path.
func defineParts(t *testing.T, id lease.ID, parts ...part) string {
	t.Helper()
	var services, endpoints []string
	for _, p := range parts {
		if p.service != "" {
			services = append(services, p.service)
		}
		if p.endpoint != "" {
			endpoints = append(endpoints, p.endpoint)
		}
	}
	return harness.Define(t, id, services, endpoints)
}
