package guard_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// write is a row of testdata/writes.yaml. It is sent as a dry run, which admission judges like any other write.
type write struct {
	Is, As, Says, May string
	Set               map[string]any
	Sub               map[string][2]string
	like              ref
}

// managers are the field managers under which each write is sent.
var managers = map[string]string{
	"own": aliceLease.Group().FieldManager(), "sibling": sibling.Group().FieldManager(), "stranger": bobLease.Group().FieldManager(),
	"order": fieldsOrder.Order.FieldManager(), "formerorder": reservation.Order.FieldManager(), "program": lease.FieldManager, "person": "kubectl-edit",
}

var writes = readWrites()

func readWrites() (all []write) {
	in := func(from time.Duration, layout string) string { return time.Now().Add(from).UTC().Format(layout) }
	announced := reserved.Claim{Order: fieldsOrder.Order, Pending: &reserved.Part{
		Asked: "b", HTTP: 2, Expires: in(time.Minute, time.RFC3339),
		Hold: inventory.Hold{Nodes: map[string]inventory.Amounts{"params": {CPU: 1}, "http": {GPU: 1}}, Storage: map[string]uint64{"http": 1, "by": 2}},
		Params: map[uint32]*lease.SchedulerParams{
			1:  {RuntimeClass: "nvidia", Resources: &lease.SchedulerResources{GPU: &lease.SchedulerGPU{Vendor: "nvidia"}}},
			12: {Resources: &lease.SchedulerResources{GPU: &lease.SchedulerGPU{}}},
		},
	}}
	other := lease.Order{Owner: alice, DSeq: 9, GSeq: 9, OSeq: 9}
	text, err := os.ReadFile("testdata/writes.yaml")
	if err != nil {
		panic(err)
	}
	groups := map[string][]write{}
	err = yaml.UnmarshalStrict([]byte(strings.NewReplacer(
		"N/", "net.akash.network/", "L/", "akash.network/lease.id.", "<alice>", alice, "<bob>", bob, "<provider>", provider, "<stranger>", managers["stranger"],
		"<lease>", aliceLease.String(), "<bobs>", bobLease.String(), "<sibling>", sibling.String(), "<bobsgroup>", bobLease.Group().String(), "<siblinggroup>", sibling.Group().String(),
		"<root>", rootPath, "<hold>", state.RouteKey("/hold"), "<other>", state.RouteKey("/other"), "<note>", fieldsHost.Parts[0].Wait("", nil).Key,
		"<df9>", kept.Name(other.Group()), "<dfsibling>", kept.Name(sibling.Group()), "<rs9>", reserved.Name(other),
		"<minute>", in(time.Minute, time.RFC3339), "<hour>", in(time.Hour, time.RFC3339), "<at>", in(0, micro), "<tomorrow>", in(24*time.Hour, micro),
		"<announced>", announced.Configuration("").Annotations[reserved.AnnotationPending], "<written>", "must be JSON as kubectl akash-net writes it",
		"<gone>", `{apiVersion: v1, kind: ConfigMap, name: gone, uid: "00000000-0000-4000-8000-000000000000"}`,
	).Replace(string(text))), &groups)
	if err != nil {
		panic(err)
	}
	for names, rows := range groups {
		for _, name := range split(names) {
			for _, w := range rows {
				w.like, w.Is = refs[name], fmt.Sprint(name, "/", w.Is, " ", w.As)
				all = append(all, w)
			}
		}
	}
	slices.SortFunc(all, func(a, b write) int { return strings.Compare(a.Is, b.Is) })
	return all
}

// split returns the names of objects in a key: "dead run" is one, "host order" are two.
func split(names string) []string {
	if _, one := refs[names]; one {
		return []string{names}
	}
	return strings.Fields(names)
}

// may reports whether the guard lets a field manager write it.
func (w write) may(manager string) bool {
	return w.May == "anybody" || slices.Contains(strings.Fields(w.May), manager)
}

// policy is the policy that judges it.
func (w write) policy() string {
	switch name := cmp.Or(w.As, w.like.name); {
	case strings.HasPrefix(name, "df--"):
		return "akash-net-definitions"
	case strings.HasPrefix(name, "run--"):
		return "akash-net-runs"
	}
	return "akash-net-" + map[string]string{
		"leases": "claims", "providerhosts": "hosts", "providerleasedips": "leased-ips", "namespaces": "namespaces", "services": "sharing-keys",
	}[w.like.resource.Resource]
}

// object returns what is to be written, and whom a refusal has to name: the holder of what is there.
func (w write) object(t *testing.T) (o *unstructured.Unstructured, holder string) {
	t.Helper()
	o = w.like.get(t)
	is := o.GetAnnotations()
	for key, text := range w.Sub {
		if !strings.Contains(is[key], text[0]) {
			t.Fatalf("%s of %s has no %q: %s", key, w.Is, text[0], is[key])
		}
		is[key] = strings.ReplaceAll(is[key], text[0], text[1])
		o.SetAnnotations(is)
	}
	if w.As != "" {
		made := &unstructured.Unstructured{Object: map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "spec": o.Object["spec"]}}
		made.SetName(w.As)
		made.SetLabels(o.GetLabels())
		made.SetAnnotations(is)
		o = made
	} else if labels := o.GetLabels(); labels[state.LabelKind] != state.KindRun {
		holder = cmp.Or(labels[state.LabelOwner], labels[kept.Label], labels[lease.LabelOwner])
	}
	metadata := map[string]any{}
	patch := map[string]any{"metadata": metadata}
	for key, value := range w.Set {
		if metadata[key] = value; key == "spec" {
			patch[key] = value
			delete(metadata, key)
		}
	}
	body, err := jsonpatch.MergePatch(encoded(t, o), encoded(t, patch))
	if err == nil {
		err = o.UnmarshalJSON(body)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o, holder
}

// send writes the object in the plainest way under a field manager. Controllers may write it meanwhile.
func (w write) send(t *testing.T, manager string) (holder string, err error) {
	t.Helper()
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) {
		var o *unstructured.Unstructured
		if o, holder = w.object(t); w.As != "" {
			_, err = w.like.client().Create(t.Context(), o, metav1.CreateOptions{DryRun: dryRun, FieldManager: managers[manager]})
		} else {
			_, err = w.like.client().Update(t.Context(), o, metav1.UpdateOptions{DryRun: dryRun, FieldManager: managers[manager]})
		}
		return err
	})
	return holder, err
}

// Without the guard everything passes, so that each refusal is the guard's.
func nothingIsRefused(t *testing.T) {
	for _, w := range writes {
		if _, err := w.send(t, "person"); err != nil {
			t.Errorf("%s: %v", w.Is, err)
		}
	}
}

// Each write is refused with the words of its rule, and to each field manager that may not do it; in the short run to one, drawn anew by the
// date. One who may is let pass.
func rules(t *testing.T) {
	names := slices.Sorted(maps.Keys(managers))
	for i, w := range writes {
		t.Run(w.Is, func(t *testing.T) {
			t.Parallel()
			if w.Says != "" {
				holder, err := w.send(t, "person")
				if !refusedBy(err, w.policy()) || !strings.Contains(err.Error(), w.Says) || !strings.Contains(err.Error(), holder) {
					t.Errorf("want a refusal by %s that says %q and names %q, got %v", w.policy(), w.Says, holder, err)
				}
			}
			tried := map[bool]bool{}
			for n := range names {
				manager := names[(i+n+harness.Today())%len(names)]
				may := w.may(manager)
				if tried[may] && !harness.Long() {
					continue
				}
				tried[may] = true
				if _, err := w.send(t, manager); refusedBy(err, w.policy()) == may || err != nil && may {
					t.Errorf("%s: want %t, got %v", manager, may, err)
				}
			}
		})
	}
}

// Each rule has a write whose refusal says what no other rule of the policy says: without the rule it would not be refused so.
func TestEachRuleHasItsBreach(t *testing.T) {
	t.Parallel()
	objects, err := manifests.Guard(config.Default(), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range objects {
		var of admissionv1.ValidatingAdmissionPolicy
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(policy.Object, &of); err != nil {
			t.Fatal(err)
		}
		if of.Name == "akash-net-reconciler" { // reconcilerKeepsToLeases
			continue
		}
		said := map[int]bool{}
		for _, w := range writes {
			var by []int
			for i, rule := range of.Spec.Validations {
				if strings.Contains(rule.MessageExpression, strings.TrimSuffix(strings.TrimSuffix(w.Says, bob), alice)) { // the literal part
					by = append(by, i)
				}
			}
			if w.Says != "" && w.policy() == policy.GetName() && len(by) == 1 {
				said[by[0]] = true
			}
		}
		for i, rule := range of.Spec.Validations {
			if !said[i] {
				t.Errorf("%s: nothing breaches the rule %s alone", policy.GetName(), rule.MessageExpression)
			}
		}
	}
}
