package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
)

// ranObjects are a lease's namespace, its Manifest with one service, and objects of its namespace.
func ranObjects(t *testing.T, word string, of ...string) []*unstructured.Unstructured {
	t.Helper()
	id := claimtest.WordLease(t, word)
	var out []*unstructured.Unstructured
	add := func(text string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out = append(out, o)
		return o
	}
	for _, text := range of {
		switch kind, rest, _ := strings.Cut(text, " "); kind {
		case "namespace":
			o := add(`{"apiVersion":"v1","kind":"Namespace","metadata":{"creationTimestamp":"2026-11-18T10:03:00Z"}}`)
			o.SetName(id.Namespace())
			o.SetLabels(id.Labels())
		case "manifest":
			o := add(`{"apiVersion":"akash.network/v2beta2","kind":"Manifest","metadata":{"namespace":"lease"},"spec":{"group":{"services":[{"name":"web","count":` + rest + `}]}}}`)
			o.SetName(id.Namespace())
			o.SetLabels(id.Labels())
		default: // KIND NAME FIELDS
			name, fields, _ := strings.Cut(rest, " ")
			version := map[string]string{"Deployment": "apps/v1", "StatefulSet": "apps/v1"}[kind]
			if version == "" {
				version = "v1"
			}
			add(fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":%q,"labels":{"akash.network":"true","akash.network/manifest-service":"web"}},%s}`, version, kind, name, id.Namespace(), fields))
		}
	}
	return out
}

const (
	rolled   = `Deployment web "spec":{"replicas":1},"status":{"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"conditions":[{"type":"Available","status":"True"}]}`
	starting = `Deployment web "spec":{"replicas":1},"status":{"replicas":1,"updatedReplicas":1}`
	failing  = `Pod web-1 "status":{"containerStatuses":[{"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}`
	lacking  = `StatefulSet web "spec":{"replicas":1},"status":{}`
	unheard  = `Event e "type":"Warning","reason":"FailedCreate","message":"exceeded quota","involvedObject":{"kind":"StatefulSet","name":"web"}`
)

func sayLeases(b *Book) string {
	var out strings.Builder
	for _, r := range b.Leases {
		fmt.Fprintf(&out, "%d %q hosts %v", r.DSeq, r.State, r.Hosts)
		if w := r.Workloads; w != nil {
			fmt.Fprintf(&out, " %s %d/%d %s", w.State, w.Ready, w.Total, w.Reason)
		}
		out.WriteString("\n")
	}
	return out.String()
}

func workloadsBook(t *testing.T, claims string, objects ...[]*unstructured.Unstructured) (Contents, *Book) {
	t.Helper()
	in := Contents{Now: statetest.Minute(10)}
	for line := range strings.Lines(claims) {
		in.Claims = append(in.Claims, claimtest.WordClaim(t, strings.TrimSpace(line)))
	}
	for _, list := range objects {
		for _, o := range list {
			in.Add(o, "ledger")
		}
	}
	return in, NewBook(config.Default(), in, SubjectLeases, SubjectWorkloads)
}

// A lease has one row, whether it holds names, runs workloads, or both.
func TestLeasesWithWorkloads(t *testing.T) {
	in, b := workloadsBook(t, "host a.example.com A: / A/1 web:80\nhost b.example.com A: / A/5 web:80",
		ranObjects(t, "A/1", "namespace", "manifest 1", rolled),
		ranObjects(t, "A/2", "namespace", "manifest 1", starting, failing),
		ranObjects(t, "A/3", "namespace", lacking, unheard),
		ranObjects(t, "A/4", "manifest 2"),
		ranObjects(t, "A/5", "namespace"),
		ranObjects(t, "A/6", "namespace"),                     // holds nothing and runs nothing
		ranObjects(t, "A/7", rolled, "Secret s"+` "data":{}`), // no object names its lease
		ranObjects(t, "A/8", "namespace", `Deployment web "spec":"x"`),
	)
	want := `1 "Reserved" hosts [a.example.com] complete 1/1 
2 "" hosts [] error 0/1 service web: 0 of 1 ready: pod web-1 is waiting: CrashLoopBackOff
3 "" hosts [] error 0/1 service web: 0 of 1 ready: no pod can be made: exceeded quota
4 "" hosts [] pending 0/2 service web: 0 of 2 ready: it has no Deployment and no StatefulSet yet
5 "Reserved" hosts [b.example.com]
8 "" hosts [] error 0/0 it cannot be told: deployment ` + claimtest.WordLease(t, "A/8").Namespace() + `/web cannot be read: cannot restore struct from: string
`
	if diff := cmp.Diff(want, sayLeases(b)); diff != "" {
		t.Error(diff)
	}
	if since := b.Leases[1].Since; since.Minute() != 3 {
		t.Errorf("a lease that only runs is there since its namespace is: %v", since)
	}
	if b.Leases[0].Namespace != claimtest.WordLease(t, "A/1").Namespace() || b.Leases[3].Lease == "" {
		t.Errorf("rows without their lease: %+v", b.Leases)
	}
	unsettled := []string{claimtest.WordLease(t, "A/2").Namespace(), claimtest.WordLease(t, "A/3").Namespace()}
	if got := in.Workloads.Unsettled(); len(got) != 2 || !cmp.Equal(labels.Set{got[0]: "", got[1]: ""}, labels.Set{unsettled[0]: "", unsettled[1]: ""}) {
		t.Errorf("pods are read of %v, want %v", got, unsettled)
	}
	if got := in.Workloads.LackPods(); !cmp.Equal(got, unsettled[1:]) {
		t.Errorf("events are read of %v", got)
	}
	if plain := NewBook(config.Default(), in, SubjectLeases); sayLeases(plain) != "1 \"Reserved\" hosts [a.example.com]\n5 \"Reserved\" hosts [b.example.com]\n" || plain.WithWorkloads {
		t.Errorf("without being asked: %s", sayLeases(plain))
	}
}

// A namespace belongs to a lease only if it has the lease's namespace name: anyone can set labels.
func TestForgedNamespacesRunNothing(t *testing.T) {
	forged := ranObjects(t, "A/1", "namespace", "manifest 1", rolled)
	for _, o := range forged {
		if o.GetNamespace() == "" || o.GetKind() == "Manifest" {
			o.SetName("forged")
		} else {
			o.SetNamespace("forged")
		}
	}
	if _, b := workloadsBook(t, "", forged); len(b.Leases) > 0 {
		t.Error(sayLeases(b))
	}
}

// A watch shows a lease again when its workloads change, and once more when it is gone.
func TestChangesOfWorkloads(t *testing.T) {
	_, before := workloadsBook(t, "", ranObjects(t, "A/1", "namespace", starting), ranObjects(t, "A/2", "namespace", rolled), ranObjects(t, "A/3", "namespace", rolled))
	_, now := workloadsBook(t, "", ranObjects(t, "A/1", "namespace", rolled), ranObjects(t, "A/2", "namespace", rolled))
	changes := now.Changes(before)
	if got, want := sayLeases(changes), "1 \"\" hosts [] complete 1/1 \n3 \"Released\" hosts [] complete 1/1 \n"; got != want || !changes.WithWorkloads {
		t.Errorf("got %s", got)
	}
	now.Select(labels.SelectorFromSet(labels.Set{"akash.network/lease.id.dseq": "2"}), "")
	if got := sayLeases(now); got != "2 \"\" hosts [] complete 1/1 \n" {
		t.Errorf("selected: %s", got)
	}
}
