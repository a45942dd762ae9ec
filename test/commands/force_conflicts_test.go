package commands

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// setClass sets a field of an Ingress of this program, as a field manager does with Update.
func setClass(t *testing.T, namespace, host, manager, class string) {
	t.Helper()
	_, err := harness.Objects.Resource(ingresses).Namespace(namespace).Patch(t.Context(), host, types.MergePatchType,
		[]byte(`{"spec":{"ingressClassName":"`+class+`"}}`), metav1.PatchOptions{FieldManager: manager})
	if err != nil {
		t.Fatal(err)
	}
}

func classOf(t *testing.T, namespace, host string) string {
	t.Helper()
	class, _, _ := unstructured.NestedString(need(t, ingresses, namespace, host).Object, "spec", "ingressClassName")
	return class
}

// A conflict names both values and the manager. --force-conflicts takes back what kubectl users have set, says what that overwrites,
// and changes nothing of a lease if another manager is in the way.
func TestForceConflicts(t *testing.T) {
	t.Parallel()
	id, domain := leaseOf(newOwner(), 1), newDomain()
	one, two := "a."+domain, "b."+domain
	definition := define(t, id, web("web", 8080, one, two))
	mustRun(t, 0, "apply", "-f", definition)
	force := []string{"apply", "-f", definition, "--force-conflicts"}
	setClass(t, id.Namespace(), one, "helm", "haproxy")
	mustRun(t, 1, "apply", "-f", definition).Says(t, ".spec.ingressClassName: \"haproxy\", set by helm since ", "; the lease wants \"akash-ingress-class\"")
	setClass(t, id.Namespace(), two, "kubectl-edit", "traefik")
	for _, args := range [][]string{force, append(force, "--dry-run=client"), append(force, "--dry-run=server")} {
		r := mustRun(t, 1, args...).Says(t, "fields are managed by helm")
		if strings.Contains(r.Stdout, "is applied") || strings.Contains(r.Stderr, "To take these fields back") {
			t.Errorf("what helm has set is forced: %s", r)
		}
	}
	if is := []string{classOf(t, id.Namespace(), one), classOf(t, id.Namespace(), two)}; !slices.Equal(is, []string{"haproxy", "traefik"}) {
		t.Fatalf("a refused lease was written: %q", is)
	}

	setClass(t, id.Namespace(), one, "helm", "akash-ingress-class")
	for _, dry := range [][]string{nil, {"--dry-run=client"}, {"--dry-run=server"}} {
		mustRun(t, 1, append([]string{"apply", "-f", definition}, dry...)...).Says(t, "ingress/"+two, "To take these fields back: kubectl akash-net apply -f FILE --force-conflicts")
	}
	mustRun(t, 0, append(force, "--dry-run=client")...).Prints(t, "ingress/"+two+" configured (dry run)", "traefik   owned by kubectl-edit", "1 update")
	mustRun(t, 0, append(force, "--dry-run=server")...).Prints(t, "ingress/"+two+" configured (taken back: .spec.ingressClassName: \"traefik\", set by kubectl-edit since ")
	if is := classOf(t, id.Namespace(), two); is != "traefik" {
		t.Fatalf("a dry run has written %q", is)
	}

	plan := file(t, mustRun(t, 1, "diff", "-o", "json", "-f", definition).Prints(t, `"byHand": true`).Stdout)
	setClass(t, id.Namespace(), two, "kubectl-edit", "contour")
	mustRun(t, 1, "apply", "--plan", plan, "--force-conflicts").Says(t, "the plan is out of date: ingress/"+id.Namespace()+"/"+two)
	if is := classOf(t, id.Namespace(), two); is != "contour" {
		t.Fatalf("a value that was set since the plan was made is overwritten with %q", is)
	}
	const drift = ".spec.ingressClassName: \"contour\", set by kubectl-edit since "
	for _, of := range []string{two, id.Group().String()} {
		mustRun(t, 0, "explain", of).Prints(t, "ingress/"+two+" in namespace "+id.Namespace()+" is not as the lease wants it: "+drift, "-> kubectl akash-net diff "+id.Group().String())
	}
	mustRun(t, 1, "state", "--problems", "-o", "name").Prints(t, "problem/Drift/ingress/"+two+"\n")
	mustRun(t, 1, "state", "--problems", "-o", "yaml", "-n", id.Namespace()).Prints(t, "problem: Drift\n", drift, "apply the lease again with --force-conflicts")
	for _, subject := range []string{"hosts", "leases"} {
		mustRun(t, 0, "state", subject, "-n", id.Namespace()).Says(t, "Note: kubectl users have set fields of objects of lease "+id.String(), "kubectl akash-net explain "+id.Group().String())
	}
	mustRun(t, 0, force...).Prints(t, "ingress/"+two+" configured (taken back: .spec.ingressClassName: \"contour\", set by kubectl-edit since ")
	if is := classOf(t, id.Namespace(), two); is != "akash-ingress-class" {
		t.Errorf("the field is %q", is)
	}
	mustRun(t, 0, force...).Prints(t, "unchanged")
	if r := run(t.Context(), "state", "--problems", "-o", "name"); strings.Contains(r.Stdout, two) {
		t.Errorf("there is drift no more: %s", r)
	}
	if r := run(t.Context(), "state", "-n", id.Namespace()); strings.Contains(r.Stderr, "kubectl users") {
		t.Errorf("kubectl users own no fields any more: %s", r)
	}
}

// Neither a claim nor an object that is not the lease's own is forced.
func TestForceConflictsKeepsToTheLease(t *testing.T) {
	t.Parallel()
	owner, host := newOwner(), newDomain()
	id, rival := leaseOf(owner, 1), leaseOf(newOwner(), 1)
	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 8080, host)))
	before := claim(t, host).ResourceVersion
	mustRun(t, 4, "apply", "--force-conflicts", "-f", define(t, rival, web("web", 8080, host))).Says(t, host+" is held by another lease")
	if now := claim(t, host).ResourceVersion; now != before {
		t.Errorf("the claim was written")
	}
	change(t, ingresses, id.Namespace(), host, func(o *unstructured.Unstructured) {
		o.SetLabels(with(o.GetLabels(), "akash.network/lease.id.dseq", "99"))
	})
	setClass(t, id.Namespace(), host, "kubectl-edit", "traefik")
	r := mustRun(t, 1, "apply", "--force-conflicts", "-f", define(t, id, web("web", 8080, host)))
	if is := classOf(t, id.Namespace(), host); is != "traefik" {
		t.Errorf("an object with the labels of another lease was forced: %s", r)
	}
}

// A field that somebody has removed has no owner, and is drift by the kept definition: the lease wants it.
func TestARemovedFieldIsDrift(t *testing.T) {
	t.Parallel()
	id, domain := leaseOf(newOwner(), 1), newDomain()
	host, other := "a."+domain, "b."+domain
	definition := define(t, id, web("web", 8080, host, other))
	mustRun(t, 0, "apply", "-f", definition)
	// The configuration by which the drift is looked for has no addresses for this one.
	mustRun(t, 0, "apply", "--config", configure(t, "ip: {ranges: ["+newNet()+"0/29]}"), "-f", define(t, leaseOf(newOwner(), 1), leased("game", "public", 7777)))
	_, err := harness.Objects.Resource(ingresses).Namespace(id.Namespace()).Patch(t.Context(), host, types.MergePatchType,
		[]byte(`{"spec":{"ingressClassName":null}}`), metav1.PatchOptions{FieldManager: "kubectl-patch"})
	if err != nil {
		t.Fatal(err)
	}
	const drift = ".spec.ingressClassName is not set; the lease wants \"akash-ingress-class\""
	for _, of := range []string{host, id.Group().String()} {
		mustRun(t, 0, "explain", of).Prints(t, "ingress/"+host+" in namespace "+id.Namespace()+" is not as the lease wants it: "+drift+".", "-> kubectl akash-net diff "+id.Group().String())
	}
	if r := mustRun(t, 0, "explain", other); strings.Contains(r.Stdout, "is not as the lease wants it") {
		t.Errorf("another host is as it should be: %s", r)
	}
	r := mustRun(t, 1, "state", "--problems", "-o", "yaml", "-n", id.Namespace()).Prints(t, "problem: Drift\n", drift, "plan: apply the lease again, or change its definition")
	if strings.Count(r.Stdout, "problem: ") != 1 {
		t.Errorf("there is one problem: %s", r)
	}
	mustRun(t, 0, "apply", "-f", definition)
	if is := classOf(t, id.Namespace(), host); is != "akash-ingress-class" {
		t.Errorf("the field is %q", is)
	}
	mustRun(t, 0, "state", "--problems", "-n", id.Namespace())
}
