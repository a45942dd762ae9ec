package workloads

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// workOf is the work on a lease that wants objects, where others are in the cluster.
func workOf(opts Options, objects []render.Object, live ...deployed.Object) *Work {
	w := &Work{opts: opts, id: ot.Shop, objects: objects, wanted: map[deployed.Key]bool{}, live: &Live{objects: live, by: map[deployed.Key]*unstructured.Unstructured{}}}
	for _, o := range objects {
		w.wanted[deployed.Key{Kind: o.Kind.Kind, Name: o.Name}] = true
	}
	for _, o := range live {
		w.live.by[o.Key()] = o.Live
	}
	return w
}

func wants(kind kinds.Kind, name string) render.Object {
	return render.Object{Kind: kind, Namespace: ot.Shop.Namespace(), Name: name}
}

// writtenBy is an object in the cluster that a manager has written with its labels.
func writtenBy(manager, operation string, kind kinds.Kind, name string) deployed.Object {
	o := ot.Object(kind, ot.Shop, name, map[string]any{})
	fields := map[string]any{"f:metadata": map[string]any{"f:labels": map[string]any{"f:" + lease.LabelManaged: map[string]any{}}}}
	o.Object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{"manager": manager, "operation": operation, "fieldsV1": fields}}
	return deployed.Object{Kind: kind, Live: o}
}

// The Manifest is written first, and what uses an object after it, whatever the order in which they are rendered.
func TestStages(t *testing.T) {
	w := workOf(Options{}, []render.Object{
		wants(kinds.Service, "web"), wants(kinds.Deployment, "web"), wants(kinds.StatefulSet, "db"), wants(kinds.Secret, "one"), wants(kinds.Manifest, "ns"), wants(kinds.NetworkPolicy, "two"),
	})
	const want = "manifest/ns | secret/one networkpolicy/two |  | deployment/web statefulset/db | service/web"
	var stages []string
	for _, stage := range w.Stages() {
		var names []string
		for _, o := range stage {
			names = append(names, o.String())
		}
		stages = append(stages, strings.Join(names, " "))
	}
	if got := strings.Join(stages, " | "); got != want {
		t.Errorf("stages %s, want %s", got, want)
	}
}

// A Secret without a password is left, and the user is told what follows.
func TestLeft(t *testing.T) {
	w := workOf(Options{}, nil)
	w.lacking = []deployed.Lacking{{Service: "web", Secret: "docker-creds-web"}, {Service: "db", Secret: "docker-creds-db", There: true}}
	var texts []string
	for _, m := range w.Left() {
		texts = append(texts, fmt.Sprintf("%s %s/%s %s", m.Kind.Singular, m.Namespace, m.Name, m.Why))
	}
	for i, want := range []string{"pods of service web cannot get their image", "of another registry or user"} {
		if i >= len(texts) || !strings.Contains(texts[i], want) || !strings.HasPrefix(texts[i], "secret "+ot.Shop.Namespace()+"/docker-creds-") {
			t.Errorf("%q has no %q", texts, want)
		}
	}
}

// What another kind of workload replaces always goes; what the lease does not want any more goes if all of it shall.
func TestUnwanted(t *testing.T) {
	ours := ot.Shop.Group().FieldManager()
	w := workOf(Options{}, []render.Object{wants(kinds.StatefulSet, "web"), wants(kinds.Secret, "wanted")},
		writtenBy(ours, "Apply", kinds.Deployment, "web"), writtenBy(ours, "Apply", kinds.Deployment, "old"), writtenBy(ours, "Apply", kinds.Secret, "wanted"),
		writtenBy(ours, "Apply", kinds.Secret, "kept"), writtenBy(managed.Akash, "Update", kinds.Service, "theirs"))
	w.keep = map[deployed.Key]bool{{Kind: kinds.Secret.Kind, Name: "kept"}: true}
	for all, want := range map[bool][]string{false: {"web"}, true: {"web", "old"}} {
		var names []string
		for _, o := range w.Unwanted(all) {
			names = append(names, o.Live.GetName())
		}
		if !slices.Equal(names, want) {
			t.Errorf("all %t: %v, want %v", all, names, want)
		}
	}
}

// Akash's provider is taken off the managers of what is adopted, and of nothing else.
func TestWantsDisowned(t *testing.T) {
	web := []render.Object{wants(kinds.Deployment, "web")}
	for name, c := range map[string]struct {
		adopt bool
		live  []deployed.Object
		want  bool
	}{
		"Akash's, to be adopted":     {true, []deployed.Object{writtenBy(managed.Akash, "Update", kinds.Deployment, "web")}, true},
		"Akash's, not to be adopted": {false, []deployed.Object{writtenBy(managed.Akash, "Update", kinds.Deployment, "web")}, false},
		"the lease's own":            {true, []deployed.Object{writtenBy(ot.Shop.Group().FieldManager(), "Apply", kinds.Deployment, "web")}, false},
		"Akash's, and not wanted":    {true, []deployed.Object{writtenBy(managed.Akash, "Update", kinds.Deployment, "other")}, false},
		"nothing is there":           {true, nil, false},
	} {
		if got := workOf(Options{Adopt: c.adopt}, web, c.live...).WantsDisowned(); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// The error says of each object whose it is, and what may be done about that kind.
func TestTakenError(t *testing.T) {
	foreign := Taken{Object: "deployment/web", Namespace: "ns", Managers: []string{"helm", "kubectl"}}
	akashs := Taken{Object: "service/web", Namespace: "ns", Managers: []string{"provider-services"}, Adoptable: true}
	unknown := Taken{Object: "secret/x", Namespace: "ns"}
	got := golden.Cases{}
	for name, taken := range map[string][]Taken{"somebody else's": {foreign}, "Akash's": {akashs}, "both": {foreign, akashs}, "nobody's": {unknown}} {
		got[name] = (&TakenError{Lease: lease.ID{Owner: "o"}, Taken: taken}).Error() + "\n"
	}
	got.Check(t, "testdata/taken.golden")
}
