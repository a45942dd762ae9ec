package soak_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/akash-net/kubectl-akash-net/lease/leasetest"
)

// The tenants and what they ask for. Each tenant has domains of its own with hosts below, which its
// deployments share, and now and then wants a host or a wildcard of another tenant's domains.
const (
	deployments = 4  // of a tenant
	domains     = 4  // of a tenant
	hosts       = 10 // below a domain
	addresses   = 200

	firstPort, firstPorts = 7000, 4 // of an endpoint

	provider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
)

// configuration has the addresses that are leased.
var configuration = fmt.Sprintf(`apiVersion: net.akash.network/v1alpha1
kind: ProviderConfig
metadata: {name: provider}
spec:
  hosts: {wildcards: true}
  ip: {ranges: [10.99.0.0-10.99.0.%d]}
`, addresses-1)

// tenant makes up commands. Its random numbers repeat; when commands meet does not.
type tenant struct {
	*rand.Rand
	number int
	// of is how many tenants there are.
	of int
}

func (t tenant) owner() string {
	return leasetest.Wallet(fmt.Sprint("soak ", t.number))
}

func (t tenant) group(deployment int) string { return fmt.Sprintf("%s/%d/1", t.owner(), deployment) }

func (t tenant) lease(deployment int) string { return t.group(deployment) + "/1/" + provider }

// deployment is one of the tenant's, by its number.
func (t tenant) deployment() int { return 1 + t.IntN(deployments) }

// domain is one of the tenant's, or one time in ten another tenant's.
func (t tenant) domain() string {
	whose := t.number
	if t.IntN(10) == 0 {
		whose = t.IntN(t.of)
	}
	return fmt.Sprintf("d%d.t%d.example.com", t.IntN(domains), whose)
}

// host is one of the tenant's, or one time in fifty another tenant's.
func (t tenant) host() string {
	whose := t.number
	if t.IntN(50) == 0 {
		whose = t.IntN(t.of)
	}
	return fmt.Sprintf("h%d.d%d.t%d.example.com", t.IntN(hosts), t.IntN(domains), whose)
}

// some are up to n different texts, at least one.
func (t tenant) some(n int, pick func() string) (out []string) {
	seen := map[string]bool{}
	for range 1 + t.IntN(n) {
		if text := pick(); !seen[text] {
			seen[text] = true
			out = append(out, text)
		}
	}
	return out
}

// thing is a host, a path of a host, or a wildcard.
func (t tenant) thing() string {
	switch t.IntN(8) {
	case 0:
		return "*." + t.domain()
	case 1, 2:
		return t.host() + fmt.Sprintf("/v%d", t.IntN(3))
	}
	return t.host()
}

// endpoint is the name of one of the tenant's IP endpoints.
func (t tenant) endpoint() string { return []string{"public", "private"}[t.IntN(2)] }

// definition is what a deployment defines.
type definition struct {
	group, text, file string
	// hosts are the services by host, ports the annotations of ports ("tcp-7000"), all of one endpoint.
	hosts    map[string]string
	endpoint string
	ports    []string
}

// defines is true where the lease is to have what a route serves.
func (d *definition) defines(r route) bool {
	if r.sharingKey != "" {
		return strings.HasSuffix(r.sharingKey, "-ip-"+d.endpoint) && slices.Contains(d.ports, r.key)
	}
	return r.key == "/" && d.hosts[r.thing] != ""
}

// header is how the definition of a deployment begins.
func (t tenant) header(deployment int) string {
	return fmt.Sprintf(`apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata: {name: soak}
spec:
  lease: {owner: %s, dseq: %d, gseq: 1, oseq: 1, provider: %s}
`, t.owner(), deployment, provider)
}

// definition is what a deployment might define: hosts of one or two services, and ports of an
// address. It names each host once.
func (t tenant) definition(deployment int) *definition {
	d := &definition{group: t.group(deployment), hosts: map[string]string{}}
	var s strings.Builder
	s.WriteString(t.header(deployment))
	if t.IntN(3) == 0 {
		d.endpoint = t.endpoint()
		fmt.Fprintf(&s, "  ipEndpoints: [{name: %s}]\n", d.endpoint)
	}
	named := t.some(15, t.host)
	half := t.IntN(len(named) + 1)
	fmt.Fprintln(&s, "  services:")
	for i, names := range [][]string{named[:half], named[half:]} {
		if len(names) > 0 {
			fmt.Fprintf(&s, "  - {name: web%d, expose: [{port: 8080, as: 80, global: true, hosts: [%s]}]}\n", i, strings.Join(names, ", "))
		}
		for _, name := range names {
			d.hosts[name] = fmt.Sprint("web", i)
		}
	}
	if d.endpoint != "" {
		first := firstPort + t.IntN(firstPorts)
		d.ports = []string{fmt.Sprint("tcp-", first), fmt.Sprint("udp-", first+1)}
		fmt.Fprintf(&s, "  - {name: game, expose: [{port: 9000, as: %d, global: true, ip: %s}, {port: 9000, as: %d, protocol: UDP, global: true, ip: %[2]s}]}\n",
			first, d.endpoint, first+1)
	}
	d.text = s.String()
	return d
}

// definitions are those that were applied last, by deployment group, and those that were applied last
// with success.
type definitions struct {
	mu         sync.Mutex
	last, done map[string]*definition
}

func (d *definitions) remember(x *definition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last[x.group] = x
}

// succeeded notes that a command has done all of a definition.
func (d *definitions) succeeded(x *definition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done[x.group] = x
}

// of is the definition that was applied last; nil where there is none.
func (d *definitions) of(group string) *definition {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last[group]
}

// copies are the definitions that were applied last, and those that were applied last with success.
func (d *definitions) copies() (last, done map[string]*definition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.last), maps.Clone(d.done)
}

// files are a -f for each of the definitions, in order.
func files(of map[string]*definition) (args []string) {
	for _, d := range slices.SortedFunc(maps.Values(of), func(x, y *definition) int { return strings.Compare(x.file, y.file) }) {
		args = append(args, "-f", d.file)
	}
	return args
}
