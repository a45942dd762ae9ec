package state

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// The managed fields are those of a real API server.
const (
	// akashMade is what Akash's provider owns of an object that it created, akashWrote what it owns of an existing one:
	// only what it changed.
	akashMade  = `{manager: provider-services, operation: Update, fieldsV1: {"f:metadata": {"f:labels": {".": {}, "f:akash.network": {}}}, "f:spec": {"f:rules": {}}}}`
	akashWrote = `{manager: provider-services, operation: Update, fieldsV1: {"f:metadata": {"f:annotations": {"f:nginx": {}}}}}`
	velero     = `{manager: velero-server, operation: Update, fieldsV1: {"f:metadata": {"f:labels": {".": {}, "f:akash.network": {}}}, "f:spec": {"f:rules": {}}}}`
	status     = `{manager: akash-net, operation: Update, subresource: status, fieldsV1: {"f:status": {"f:loadBalancer": {}}}}`
	noted      = `{manager: akash-net, operation: Apply, fieldsV1: {"f:metadata": {"f:annotations": {"f:net.akash.network/dns-ttl": {}}}}}`
	labelled   = `{manager: akash-net, operation: Apply, fieldsV1: {"f:metadata": {"f:labels": {"f:akash.network/lease.id.owner": {}}}}}`
	updated    = `{manager: akash-net, operation: Update, fieldsV1: {"f:spec": {"f:rules": {}}}}`
)

func applied(manager string) string {
	return fmt.Sprintf(`{manager: %q, operation: Apply, fieldsV1: {"f:metadata": {"f:annotations": {"f:net.akash.network/definition": {}}, "f:labels": {"f:akash.network": {}}}, "f:spec": {"f:rules": {}}}}`, manager)
}

// named is what a manager owns that applied the object and owns the labels of its lease.
func named(manager string) string {
	return strings.Replace(applied(manager), `"f:akash.network": {}`, `"f:akash.network": {}, "f:akash.network/lease.id.dseq": {}, "f:akash.network/lease.id.gseq": {}`, 1)
}

// namedBy is what a manager owns that applied the object and still owns one number label of its lease.
func namedBy(applied, number string) string {
	return strings.Replace(applied, `"f:akash.network": {}`, `"f:akash.network": {}, "f:akash.network/lease.id.`+number+`": {}`, 1)
}

// Labels count only in the namespace of the lease that they name. Akash's claim-like objects are beside those namespaces:
// theirs count, unless they are in a namespace of another owner.
func TestLabelsInANamespaceOfOthers(t *testing.T) {
	victim := lease.ID{Owner: "akash1victim", DSeq: 7, GSeq: 1, OSeq: 1, Provider: "akash1provider"}
	later, other := victim, victim
	later.OSeq, other.Owner = 2, "akash1other"
	const hash = `{net.akash.network/definition: h}`
	for name, tt := range map[string]struct {
		kind, namespace string
		tenant          lease.ID
		want            Ownership
		uses            bool
	}{
		"its own": {"Ingress", victim.Namespace(), victim, Ownership{Lease: victim, HasLease: true, Labelled: true, Ours: true, Lost: []string{MarkFields}}, true},
		"its own, and the namespace says nothing": {"Ingress", victim.Namespace(), lease.ID{}, Ownership{Lease: victim, HasLease: true, Labelled: true, Ours: true, Lost: []string{MarkFields}}, true},
		"another owner's":                         {"Ingress", other.Namespace(), other, Ownership{Lease: other, HasLease: true, Ours: true, Lost: []string{MarkLabels, MarkFields}}, false},
		"its own name, and another owner's":       {"Ingress", victim.Namespace(), other, Ownership{Lease: other, HasLease: true, Ours: true, Lost: []string{MarkLabels, MarkFields}}, true},
		"another order's":                         {"Ingress", later.Namespace(), later, Ownership{Lease: later, HasLease: true, Ours: true, Lost: []string{MarkLabels, MarkFields}}, false},
		"nobody's":                                {"Ingress", "default", lease.ID{}, Ownership{}, false},
		"a ProviderHost beside the leases":        {"ProviderHost", "lease", lease.ID{}, Ownership{Lease: victim, HasLease: true, Labelled: true, Ours: true, Lost: []string{MarkFields}}, true},
		"a ProviderHost in another owner's":       {"ProviderHost", other.Namespace(), other, Ownership{Lease: other, HasLease: true, Ours: true, Lost: []string{MarkLabels, MarkFields}}, true},
	} {
		o := &unstructured.Unstructured{}
		text := fmt.Sprintf("{kind: %s, metadata: {name: shop.example.com, namespace: %s, annotations: %s}, spec: {rules: [{host: shop.example.com}]}}", tt.kind, tt.namespace, hash)
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		o.SetLabels(victim.Labels())
		if diff := cmp.Diff(tt.want, OwnershipOf(o, tt.tenant)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, u := range HostUses(o) {
			if u.Labelled != tt.uses || u.HasLease != tt.uses || u.Of(victim.Group()) != tt.uses {
				t.Errorf("%s: it is used as by %+v", name, u)
			}
		}
		if l := LabelledOf(o.GetKind(), o); l.HasLease != tt.uses || l.Of(victim.Group()) != tt.uses || !tt.uses && l.Owner != "" {
			t.Errorf("%s: the book has %+v", name, l)
		}
	}
}

// Every mark that an object has or has lost, by writer.
func TestOwnership(t *testing.T) {
	mine := lease.ID{Owner: "akash1mine", DSeq: 7, GSeq: 1, OSeq: 1, Provider: "akash1provider"}
	other := mine
	other.DSeq = 8
	const hash = `{net.akash.network/definition: h}`
	ours, ofLease, ofOther := applied("akash-net"), applied(mine.Group().FieldManager()), applied(other.Group().FieldManager())
	spec := fmt.Sprintf(`{owner: %s, dseq: 7, gseq: 1, oseq: 1, provider: %s}`, mine.Owner, mine.Provider)
	tests := []struct {
		name        string
		kind        string
		annotations string
		unlabelled  bool
		spec        string
		namespace   lease.ID
		managers    []string

		want Ownership
		// goes: it is deleted if its ProviderHost is ours or missing. stays: it stays if the ProviderHost is Akash's.
		goes, goesWithAkashs bool
	}{
		{name: "ours", annotations: hash, managers: []string{ours}, want: Ownership{Ours: true}, goes: true, goesWithAkashs: true},
		{name: "ours, and an operator has stripped it", managers: []string{ours, akashWrote}, want: Ownership{Ours: true, Shared: true, Lost: []string{MarkAnnotation}}, goes: true},
		{name: "ours, and an operator has written beside it", annotations: hash, managers: []string{ours, akashWrote}, want: Ownership{Ours: true, Shared: true}, goes: true},
		{name: "ours, and somebody has stripped it", managers: []string{ours}, want: Ownership{Ours: true, Lost: []string{MarkAnnotation}}, goes: true, goesWithAkashs: true},
		{name: "ours, restored", annotations: hash, managers: []string{velero}, want: Ownership{Ours: true, Lost: []string{MarkFields}}, goes: true, goesWithAkashs: true},
		{name: "ours, delivered by a pipeline", annotations: hash, managers: []string{`{manager: kubectl, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:annotations": {"f:net.akash.network/definition": {}}}}}`}, want: Ownership{Ours: true}, goes: true, goesWithAkashs: true},
		{name: "ours, and another applies something of it", annotations: hash, managers: []string{`{manager: kubectl, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {}}}`}, want: Ownership{Ours: true, Lost: []string{MarkFields}}, goes: true, goesWithAkashs: true},
		{name: "ours, delivered by kubectl apply", annotations: `{net.akash.network/definition: h, kubectl.kubernetes.io/last-applied-configuration: "{}"}`, managers: []string{velero}, want: Ownership{Ours: true}, goes: true, goesWithAkashs: true},
		{name: "ours, without any managed fields", annotations: hash, want: Ownership{Ours: true, Lost: []string{MarkFields}}, goes: true, goesWithAkashs: true},
		{name: "ours, restored, and an operator has written on it", annotations: hash, managers: []string{velero, akashWrote}, want: Ownership{Ours: true, Shared: true, Lost: []string{MarkFields}}, goes: true},
		{name: "ours, without labels", annotations: hash, unlabelled: true, namespace: mine, managers: []string{ours}, want: Ownership{Ours: true, Lost: []string{MarkLabels}}, goes: true, goesWithAkashs: true},
		{name: "ours, without labels and annotation", unlabelled: true, namespace: mine, managers: []string{ours}, want: Ownership{Ours: true, Lost: []string{MarkAnnotation, MarkLabels}}, goes: true, goesWithAkashs: true},
		{name: "without labels, in nobody's namespace", annotations: hash, unlabelled: true, managers: []string{ours}},
		{name: "an operator made it, and we applied it too", annotations: hash, managers: []string{ours, akashMade}, want: Ownership{Ours: true, Shared: true, Declared: true}, goes: true},
		{name: "an operator made it, we applied it too, and the operator stripped it", managers: []string{ours, akashMade}, want: Ownership{Ours: true, Shared: true, Declared: true, Lost: []string{MarkAnnotation}}, goes: true},
		{name: "an operator's", managers: []string{akashMade}, want: Ownership{Shared: true, Declared: true}},
		{name: "an operator's, with a note of ours", managers: []string{akashMade, noted}, want: Ownership{Shared: true, Declared: true}},
		{name: "an operator's, with a status of ours", managers: []string{akashMade, status}, want: Ownership{Shared: true, Declared: true}},
		{name: "somebody's with the lease's labels", managers: []string{velero}},
		{name: "somebody's, updated under our name", managers: []string{velero, updated}},
		{name: "somebody's in the lease's namespace", unlabelled: true, namespace: mine, managers: []string{velero}},

		{name: "a ProviderHost of ours", kind: "ProviderHost", annotations: hash, managers: []string{ofLease}, want: Ownership{Ours: true}, goes: true, goesWithAkashs: true},
		{name: "a ProviderHost of ours that Akash deployed too", kind: "ProviderHost", managers: []string{ofLease, akashWrote}, want: Ownership{Ours: true, Shared: true, Lost: []string{MarkAnnotation}}, goes: true, goesWithAkashs: true},
		{name: "a ProviderHost of ours without labels", kind: "ProviderHost", annotations: hash, unlabelled: true, spec: spec, managers: []string{ofLease}, want: Ownership{Ours: true, Lost: []string{MarkLabels}}, goes: true, goesWithAkashs: true},
		{name: "a ProviderLeasedIP of ours without labels", kind: "ProviderLeasedIP", annotations: hash, unlabelled: true, spec: "{lease_id: " + strings.Replace(spec, "dseq: 7", `dseq: "7"`, 1) + "}", managers: []string{ofLease}, want: Ownership{Ours: true, Lost: []string{MarkLabels}}, goes: true, goesWithAkashs: true},
		{name: "a ProviderHost of Akash's that we applied too", kind: "ProviderHost", annotations: hash, managers: []string{ofLease, akashMade}, want: Ownership{Ours: true, Shared: true, Declared: true}},
		{name: "a ProviderHost that Akash has moved here from another lease of the owner", kind: "ProviderHost", managers: []string{ofOther, akashWrote}, want: Ownership{Shared: true, MovedFrom: []lease.Group{other.Group()}}},
		{name: "a ProviderHost that a transfer has moved away, and Akash has moved back", kind: "ProviderHost", annotations: hash, managers: []string{ofOther, ofLease, akashWrote}, want: Ownership{Shared: true, MovedFrom: []lease.Group{other.Group()}}},
		{name: "a ProviderHost that a transfer has moved here, and Akash has deployed too", kind: "ProviderHost", annotations: hash, managers: []string{ofOther, named(mine.Group().FieldManager()), akashWrote}, want: Ownership{Ours: true, Shared: true}, goes: true, goesWithAkashs: true},
		{name: "a ProviderHost that a transfer has moved here", kind: "ProviderHost", annotations: hash, managers: []string{ofOther, ofLease}, want: Ownership{Ours: true}, goes: true, goesWithAkashs: true},
		{name: "a ProviderHost that a transfer has moved here and a restore has touched", kind: "ProviderHost", annotations: hash, managers: []string{ofOther}, want: Ownership{Ours: true, Lost: []string{MarkFields}}, goes: true, goesWithAkashs: true},
		{name: "a ProviderHost that Akash has moved back to another deployment", kind: "ProviderHost", annotations: hash, managers: []string{ofOther, namedBy(ofLease, "gseq"), akashWrote}, want: Ownership{Shared: true, MovedFrom: []lease.Group{other.Group()}}},
		{name: "a ProviderHost that Akash has moved back to another group", kind: "ProviderHost", annotations: hash, managers: []string{ofOther, namedBy(ofLease, "dseq"), akashWrote}, want: Ownership{Shared: true, MovedFrom: []lease.Group{other.Group()}}},
		{name: "a ProviderHost that an earlier version of this program wrote, beside another deployment and Akash", kind: "ProviderHost", annotations: hash, managers: []string{ofOther, ours, akashWrote}, want: Ownership{Ours: true, Shared: true}, goes: true, goesWithAkashs: true},
		{name: "a ProviderHost of ours of whose labels nobody tells, with Akash's writes", kind: "ProviderHost", annotations: hash, managers: []string{ofLease, akashWrote}, want: Ownership{Ours: true, Shared: true}, goes: true, goesWithAkashs: true},
		{name: "Akash made it, and has written it once more since", managers: []string{akashMade, akashWrote}, want: Ownership{Shared: true, Declared: true}},
		{name: "ours by its labels alone", annotations: hash, managers: []string{labelled}, want: Ownership{Ours: true}, goes: true, goesWithAkashs: true},
		{name: "a ProviderHost of another lease than its namespace's", kind: "ProviderHost", annotations: hash, namespace: other, managers: []string{ofLease}, want: Ownership{Ours: true}, goes: true, goesWithAkashs: true},
		{name: "a ProviderHost without labels, in a namespace of another lease", kind: "ProviderHost", annotations: hash, unlabelled: true, spec: spec, namespace: other, managers: []string{ofLease}, want: Ownership{Ours: true, Lost: []string{MarkLabels}}, goes: true, goesWithAkashs: true},
		{name: "a ProviderHost without labels whose spec names no lease", kind: "ProviderHost", annotations: hash, unlabelled: true, spec: "{owner: akash1mine}", namespace: mine, managers: []string{ofLease}, want: Ownership{Ours: true, Lost: []string{MarkLabels}}, goes: true, goesWithAkashs: true},
		{name: "Akash's ProviderHost", kind: "ProviderHost", managers: []string{akashMade}, want: Ownership{Shared: true, Declared: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			labels := mine.Labels()
			if tt.want.Labelled, tt.want.Lease, tt.want.HasLease = !tt.unlabelled, mine, true; tt.unlabelled {
				labels = nil
			}
			if tt.unlabelled && tt.spec == "" && tt.namespace == (lease.ID{}) {
				tt.want.Lease, tt.want.HasLease = lease.ID{}, false
			}
			kind := tt.kind
			if kind == "" {
				kind = "Ingress"
			}
			o := &unstructured.Unstructured{}
			text := fmt.Sprintf("{kind: %s, metadata: {annotations: %s, managedFields: [%s]}, spec: %s}", kind, tt.annotations, strings.Join(tt.managers, ", "), tt.spec)
			if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
				t.Fatal(err)
			}
			o.SetLabels(labels)
			o.SetNamespace(mine.Namespace())
			got := OwnershipOf(o, tt.namespace)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for declared, want := range map[bool]bool{false: tt.goes, true: tt.goesWithAkashs} {
				if goes := got.Goes(tt.kind != "", declared); goes != want {
					t.Errorf("where Akash's provider declares it (%v) it goes: %v, want %v", declared, goes, want)
				}
			}
		})
	}
}
