//go:build linux

package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	coordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// The tenants and the provider of all leases; the addresses are made up, their checksums hold.
var owners = []string{"akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn"}

const provider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"

// definition is the lease of a number: one web service with one host.
func definition(i int) *lease.Definition {
	d := &lease.Definition{
		Name:  fmt.Sprintf("shop-%d", i),
		Lease: lease.ID{Owner: owners[i%len(owners)], DSeq: uint64(8438017 + i), GSeq: 1, OSeq: 1, Provider: provider},
		Services: []lease.Service{{Name: "web", Expose: []lease.Expose{{
			Port: 8080, As: 80, Protocol: lease.TCP, Global: true,
			Hosts: []lease.Host{{Name: fmt.Sprintf("shop-%d.example.com", i)}},
		}}}},
	}
	d.Hash = lease.Sum(d)
	return d
}

// document is how a user writes the definition, and runs what its service runs.
const (
	document = `---
apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata: {name: %s}
spec:
  lease: {owner: %s, dseq: %d, gseq: 1, oseq: 1, provider: %s}
  services:
  - name: web
    expose: [{port: 8080, as: 80, global: true, hosts: [%s]}]
`
	workload = `    workload:
      image: registry.example.com/shop:1
      env: [MODE=production]
      resources: {id: 1, cpu: 500m, memory: 512Mi, storage: [{size: 1Gi}]}
  group: dcloud
`
)

// file writes a file of the benchmark and returns its path.
func file(b *testing.B, write func(w io.Writer)) string {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "input.yaml"))
	check(b, err)
	w := bufio.NewWriter(f)
	write(w)
	check(b, w.Flush())
	check(b, f.Close())
	return f.Name()
}

// definitions writes the leases 0 to n.
func definitions(b *testing.B, n int, more string) string {
	b.Helper()
	return file(b, func(w io.Writer) {
		for i := range n {
			d := definition(i)
			fmt.Fprintf(w, document+more, d.Name, d.Lease.Owner, d.Lease.DSeq, d.Lease.Provider, d.Services[0].Expose[0].Hosts[0].Name)
		}
	})
}

// values writes the leases of a file as values of a chart. What the chart cannot compute, the name of the namespace and the
// definition's hashes, are values too.
func values(b *testing.B, leases string, workloads bool) string {
	b.Helper()
	in, err := os.Open(leases)
	check(b, err)
	defer in.Close() //nolint:errcheck // only read
	return file(b, func(w io.Writer) {
		fmt.Fprintln(w, "leases:")
		options := input.Options{DocumentSize: int64(config.Default().Limits.DocumentSize), Workloads: workloads}
		problems, err := input.Read(b.Context(), in, leases, options, func(d *lease.Definition) error {
			id := d.Lease
			_, err := fmt.Fprintf(w, "- {owner: %s, dseq: %d, gseq: 1, oseq: 1, provider: %s, host: %s, service: web, port: 80, namespace: %s, definition: %q, whole: %q}\n",
				id.Owner, id.DSeq, id.Provider, d.Services[0].Expose[0].Hosts[0].Name, id.Namespace(), d.Hash, lease.SumWhole(d))
			return err
		})
		check(b, err)
		if problems.Failed() {
			b.Fatalf("%.2000s", problems)
		}
	})
}

// objects writes the objects that apply makes of the leases 0 to n: namespaces first, as JSON documents.
func objects(b *testing.B, n int) string {
	b.Helper()
	var first, rest []any
	for i := range n {
		d := definition(i)
		first = append(first, corev1.Namespace(d.Lease.Namespace()).WithLabels(state.LeaseNamespaceLabels(d.Lease)))
		rendered, err := render.Lease(d, config.Default(), nil)
		check(b, err)
		rest = append(rest, claimOf(d))
		for _, o := range rendered {
			rest = append(rest, o)
		}
	}
	return file(b, func(w io.Writer) {
		for _, o := range append(first, rest...) {
			body, err := json.Marshal(o)
			check(b, err)
			fmt.Fprintf(w, "---\n%s\n", body)
		}
	})
}

// claimOf is the claim on the lease's host, as apply leaves it.
func claimOf(d *lease.Definition) *coordinationv1.LeaseApplyConfiguration {
	cfg := config.Default()
	request, problems := state.NewRequest(d, cfg)
	if len(problems) > 0 {
		panic(problems)
	}
	hold := request.Hosts[0].Hold(request.Lease)
	for i := range hold.Parts {
		hold.Parts[i].Run, hold.Parts[i].Applied = strings.Repeat("a", 13), true // the mark of a command that has ended
	}
	return hold.Claim().Configuration(cfg.LedgerNamespace, hold.Parts)
}
