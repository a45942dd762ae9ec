package input_test

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

const twoGroups = `version: "2.0"
services:
  a: {image: i, expose: [{port: 80, to: [{global: true}]}]}
  b: {image: i, expose: [{port: 80, to: [{global: true}]}]}
profiles:
  compute: {s: {resources: {cpu: {units: 1}, memory: {size: 1Gi}, storage: {size: 1Gi}}}}
  placement: {east: {pricing: {s: {denom: uakt, amount: 1}}}, west: {pricing: {s: {denom: uakt, amount: 1}}}}
deployment: {a: {west: {profile: s, count: 1}}, b: {east: {profile: s, count: 1}}}
`

// Where no lease is needed all groups of an SDL come, in the order of their gseq; with a lease its own alone.
func TestUnleased(t *testing.T) {
	read := func(opts input.Options, text string) string {
		var got []string
		problems, err := input.Read(t.Context(), strings.NewReader(text), "f", opts, func(d *lease.Definition) error {
			name := ""
			if d.Workloads != nil {
				name = d.Workloads.Group
			}
			got = append(got, name+"="+string(rune('0'+d.Lease.GSeq)))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems.Errors() {
			got = append(got, p.Message)
		}
		return strings.Join(got, " ")
	}
	opts := input.Options{Workloads: true, Unleased: true}
	if got := read(opts, twoGroups); got != "east=1 west=2" {
		t.Errorf("got %s", got)
	}
	opts.Lease = &lease.ID{Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 1, GSeq: 2, OSeq: 1, Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"}
	if got := read(opts, twoGroups); got != "west=2" {
		t.Errorf("with a lease: got %s", got)
	}
	opts.Lease = nil
	manifest := `[{"name": "east", "services": [{"name": "a", "count": 1, "expose": [{"port": 80, "proto": "TCP", "global": true}]}]}, {"name": "west", "services": [{"name": "b", "count": 1, "expose": [{"port": 81, "proto": "TCP", "global": true}]}]}]`
	opts.Workloads = false
	if got := read(opts, manifest); got != "=1 =2" {
		t.Errorf("a manifest: got %s", got)
	}
	if got := read(input.Options{}, twoGroups); !strings.Contains(got, "names no lease") {
		t.Errorf("where a lease is needed: got %s", got)
	}
}
