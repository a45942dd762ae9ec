//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	coordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// The tenants and the provider of all leases; the addresses are made up, their checksums hold.
var (
	owners = []string{
		"akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h",
		"akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn",
	}
	provider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
)

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

// document is how a user writes the definition.
const document = `apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata:
  name: %s
spec:
  lease:
    owner: %s
    dseq: %d
    gseq: 1
    oseq: 1
    provider: %s
  services:
  - name: web
    expose:
    - port: 8080
      as: 80
      global: true
      hosts: [%s]
`

// writeDefinitions writes the leases 0 to n into one file.
func writeDefinitions(path string, n int) error {
	return write(path, func(w *bufio.Writer) error {
		for i := range n {
			if i > 0 {
				fmt.Fprintln(w, "---")
			}
			d := definition(i)
			fmt.Fprintf(w, document, d.Name, d.Lease.Owner, d.Lease.DSeq, d.Lease.Provider, d.Services[0].Expose[0].Hosts[0].Name)
		}
		return nil
	})
}

// writeValues writes the same leases as values of the chart. What the chart cannot compute, the
// name of the namespace and the definition's hash, is a value too.
func writeValues(path string, n int) error {
	return write(path, func(w *bufio.Writer) error {
		fmt.Fprintln(w, "leases:")
		for i := range n {
			d := definition(i)
			id, host := d.Lease, d.Services[0].Expose[0].Hosts[0].Name
			fmt.Fprintf(w, "- owner: %s\n  dseq: %d\n  gseq: %d\n  oseq: %d\n  provider: %s\n", id.Owner, id.DSeq, id.GSeq, id.OSeq, id.Provider)
			fmt.Fprintf(w, "  host: %s\n  service: web\n  port: 80\n  namespace: %s\n  definition: %s\n", host, id.Namespace(), d.Hash)
		}
		return nil
	})
}

// writeObjects writes the objects that apply makes of the leases 0 to n: namespaces first, as JSON
// documents.
func writeObjects(path string, n int) error {
	return write(path, func(w *bufio.Writer) error {
		var all []any
		for i := range n {
			id := definition(i).Lease
			all = append(all, corev1.Namespace(id.Namespace()).WithLabels(state.LeaseNamespaceLabels(id)))
		}
		for i := range n {
			d, cfg := definition(i), config.Default()
			claim, err := claimOf(d, cfg)
			if err != nil {
				return err
			}
			objects, err := render.Lease(d, cfg, nil)
			if err != nil {
				return err
			}
			all = append(all, claim)
			for _, o := range objects {
				all = append(all, o)
			}
		}
		for _, o := range all {
			body, err := json.Marshal(o)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "---\n%s\n", body)
		}
		return nil
	})
}

// claimOf is the claim on the lease's host, as apply leaves it.
func claimOf(d *lease.Definition, cfg *config.ProviderConfig) (*coordinationv1.LeaseApplyConfiguration, error) {
	request, problems := state.NewRequest(d, cfg)
	if len(problems) > 0 {
		return nil, problems
	}
	hold := request.Hosts[0].Hold(request.Lease)
	for i := range hold.Parts {
		hold.Parts[i].Run, hold.Parts[i].Applied = strings.Repeat("a", 13), true // the mark of a command that has ended
	}
	return hold.Claim().Configuration(cfg.LedgerNamespace, hold.Parts), nil
}

// writeKustomization writes a folder for kustomize: the rendered objects as its one resource,
// which was the fastest of the ways to hand them over.
func writeKustomization(dir, rendered string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	content, err := os.ReadFile(rendered)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "leases.yaml"), content, 0o600); err != nil { //nolint:gosec // in a folder of the run's own
		return err
	}
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- leases.yaml\n"
	return os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600)
}

func write(path string, content func(*bufio.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // Flush tells
	w := bufio.NewWriter(file)
	if err := content(w); err != nil {
		return err
	}
	return w.Flush()
}
