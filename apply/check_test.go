package apply

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A check of several leases leaves to the later ones what a refused one would give back.
func TestCheckOfSeveralLeases(t *testing.T) {
	held := state.HostWant{Host: "held.example.com", Service: "web", Port: 80}.Hold(someLease(somebodyElses, 9))
	claim := render.Rendered(render.Object{Config: held.Claim().Configuration("akash-net", held.Parts)})
	c, err := ofFiles(claim)
	if err != nil {
		t.Fatal(err)
	}
	request := func(n uint64, owner string, hosts ...string) state.Request {
		req := state.Request{Lease: someLease(owner, n)}
		for _, host := range hosts {
			req.Hosts = append(req.Hosts, state.HostWant{Host: host, Path: "/", Service: "web", Port: 80})
		}
		return req
	}
	refused := request(1, someOwner, "free.example.com", "held.example.com")
	free := map[string]string{}
	opts := command.Options{Config: config.Default(), Check: true, DryRun: command.DryRunClient, Concurrency: 4, Report: func(e report.Event) {
		free[e.Lease.String()+" "+e.Name] = string(e.Action)
	}}
	err = New(c, opts).Reserve(t.Context(), []state.Request{refused, request(2, somebodyElses, "free.example.com")})
	failed := report.Failures{}
	if _, ok := errors.AsType[*report.HeldError](err); !ok || errors.As(err, &failed) && len(failed) > 1 {
		t.Errorf("the answer is %v, want that one lease is refused", err)
	}
	for _, id := range []string{refused.Lease.String(), someLease(somebodyElses, 2).String()} {
		if got := free[id+" free.example.com"]; got != string(report.Free) {
			t.Errorf("free.example.com is %q for lease %s", got, id)
		}
	}
}

// ofFiles returns a cluster with the objects of files.
func ofFiles(objects ...*unstructured.Unstructured) (*cluster.Cluster, error) {
	var f Files
	for _, o := range objects {
		f.Add(o, nil)
	}
	return f.Cluster()
}
