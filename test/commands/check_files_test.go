package commands

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// A check of exported objects answers as one of the cluster, field for field, whatever leases have claimed and ask for.
func TestCheckOfFilesIsThatOfTheCluster(t *testing.T) {
	t.Parallel()
	for seed := range int64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			d := newDrawing(t, seed)
			for range 5 {
				switch d.Intn(4) {
				case 0:
					run(t.Context(), "reserve", "--config", d.config, "--lease", d.lease().String(), d.host(), "--expires", "1h")
				default:
					run(t.Context(), "apply", "--config", d.config, "-f", d.definition(t, d.lease()), "--wait=false")
				}
			}
			var input []string
			for _, i := range d.Perm(len(d.leases))[:3] {
				input = append(input, "-f", d.definition(t, d.leases[i]))
			}
			folder := exportedFiles(t, d.leases[0])
			for _, output := range []string{"json", "sarif", "name"} {
				args := append([]string{"check", "--config", d.config, "-o", output}, input...)
				want := run(t.Context(), args...)
				got := runAs(t.Context(), "/no/such/kubeconfig", append(args, "--ledger", folder)...)
				if got.Stdout != want.Stdout || got.Stderr != want.Stderr || got.Code != want.Code {
					t.Errorf("of files:\n%s\nof the cluster:\n%s", got, want)
				}
				if output == "json" && !strings.Contains(want.Stdout, `"rule"`) {
					t.Errorf("nothing was found: %s", want)
				}
			}
		})
	}
}

// drawing draws what leases of a few owners claim and ask for.
type drawing struct {
	*rand.Rand
	config, domain string
	leases         []lease.ID
}

func newDrawing(t *testing.T, seed int64) *drawing {
	t.Helper()
	d := &drawing{Rand: rand.New(rand.NewSource(seed)), domain: newDomain()}
	d.config = configure(t, "hosts: {wildcards: true}", "ip: {ranges: ["+newNet()+"0/31]}")
	for range 2 {
		owner := newOwner()
		d.leases = append(d.leases, leaseOf(owner, 1), leaseOf(owner, 2))
	}
	return d
}

func (d *drawing) lease() lease.ID { return d.leases[d.Intn(len(d.leases))] }

func (d *drawing) host() string { return []string{"a.", "b.", "*.", ""}[d.Intn(4)] + d.domain }

// definition writes a definition with some hosts, and perhaps a leased port.
func (d *drawing) definition(t *testing.T, id lease.ID) string {
	t.Helper()
	services := []string{web("web", 8080, fmt.Sprintf("%q", d.host()))}
	if d.Intn(2) == 0 {
		services = append(services, leased("game", []string{"public", "other"}[d.Intn(2)], 7000+d.Intn(2)))
	}
	return define(t, id, services...)
}
