package install

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

func object(kind, name string, labels map[string]string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}}
	o.SetName(name)
	o.SetLabels(labels)
	return o
}

// Akash's own resource definitions stay as they are, and a configuration that is there unless another is given.
func TestLeaveAlone(t *testing.T) {
	ours := map[string]string{managedBy: managedByUs}
	configured := func(text string) *unstructured.Unstructured {
		o := object("ConfigMap", "a", ours)
		o.Object["data"] = map[string]any{"config.yaml": text}
		return o
	}
	const broken = "it is there already, and has errors: kubectl akash-net config validate shows them, install --config FILE replaces it"
	for name, tt := range map[string]struct {
		live     *unstructured.Unstructured
		document string
		want     string
	}{
		"Akash's resource definition":             {object("CustomResourceDefinition", "a", nil), "", "it is there already, from Akash's provider"},
		"our resource definition":                 {object("CustomResourceDefinition", "a", ours), "", ""},
		"the configuration":                       {configured("from: akash1\n"), "", "it is there already; install --config FILE replaces it"},
		"a broken configuration":                  {configured("spec: {targt: route}\n"), "", broken},
		"no configuration in the ConfigMap":       {object("ConfigMap", "a", ours), "", broken},
		"the configuration, and another is given": {object("ConfigMap", "a", ours), "ip: {}", ""},
		"a role": {object("ClusterRole", "a", nil), "", ""},
	} {
		if got := leaveAlone(tt.live, tt.live, tt.document); got != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// What was not installed stays. Resource definitions of which objects exist stay, too.
func TestKeep(t *testing.T) {
	ours := map[string]string{managedBy: managedByUs}
	crd := object("CustomResourceDefinition", "providerhosts.akash.network", ours)
	crd.Object["spec"] = map[string]any{"names": map[string]any{"plural": "providerhosts"}}
	host := object("ProviderHost", "a", nil)
	host.SetAPIVersion("akash.network/v2beta2")
	for name, tt := range map[string]struct {
		live    *unstructured.Unstructured
		wanted  *unstructured.Unstructured
		objects []*unstructured.Unstructured
		want    string
	}{
		"somebody else's role":                  {object("Role", "a", nil), object("Role", "a", ours), nil, "it is not from install"},
		"our role":                              {object("Role", "a", ours), object("Role", "a", ours), nil, ""},
		"the namespace of Akash's objects":      {object("Namespace", "a", nil), object("Namespace", "a", nil), nil, "it is Akash's provider's too"},
		"a resource definition without objects": {crd, crd, nil, ""},
		"a resource definition with an object":  {crd, crd, []*unstructured.Unstructured{host}, "1 object of the kind would go with it"},
	} {
		c, err := cluster.OfObjects(tt.objects)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := (&Installer{Cluster: c}).keep(t.Context(), tt.wanted, tt.live); got != tt.want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// An error names the claims, and says what to do about them.
func TestErrorsSayWhatToDo(t *testing.T) {
	id := lease.ID{Owner: "akash1a", DSeq: 7, GSeq: 1, OSeq: 1, Provider: "akash1p"}
	claims := []*state.Claim{{Kind: state.Address, Thing: "203.0.113.7", Owner: id.Owner, Parts: []state.Part{{Key: "k", Lease: id}}}}
	got := golden.Cases{}
	for name, err := range map[string]error{
		"one claim": &ClaimsExistError{Claims: 1}, "several claims": &ClaimsExistError{Claims: 2, Reservations: 1}, "one reservation": &ClaimsExistError{Reservations: 1},
		"some reservations": &ClaimsExistError{Reservations: 3}, "a command at work": &AtWorkError{Run: "run 1"}, "a crashed command": &AtWorkError{Run: "run 1", Crashed: true},
		"stranded addresses": &StrandedError{Claims: claims}, "another mode": &StrandedError{Claims: claims, Pool: true},
	} {
		got[name] = err.Error() + "\n"
	}
	got.Check(t, "testdata/errors.golden")
}

// Only a refusal by RBAC asks for an administrator; of several errors none is free out.
func TestRefused(t *testing.T) {
	forbidden := apierrors.NewForbidden(cluster.Leases.GroupResource(), "a", errors.New("no role"))
	policy := apierrors.NewForbidden(cluster.Leases.GroupResource(), "a", errors.New("ValidatingAdmissionPolicy 'p' denied request"))
	for name, tt := range map[string]struct {
		err     error
		explain bool
	}{
		"RBAC":               {fmt.Errorf("patch: %w", forbidden), true},
		"a policy":           {policy, false},
		"another error":      {errors.New("other"), false},
		"two errors at once": {errors.Join(forbidden, errors.New("other")), false},
	} {
		got := Refused(tt.err)
		if explained := strings.Contains(got.Error(), "cluster administrator"); explained != tt.explain || !explained && !errors.Is(got, tt.err) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
