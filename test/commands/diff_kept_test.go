package commands

import (
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// A lease that is named is compared with what it was applied with: as with the file, until the lease is changed otherwise.
func TestDiffOfALease(t *testing.T) {
	t.Parallel()
	id, subnet, domain := leaseOf(newOwner(), 1), newNet(), newDomain()
	config := configure(t, "ip: {ranges: ["+subnet+"0/29]}")
	stays, released, handed := "a."+domain, "b."+domain, "c."+domain
	definition := define(t, id, web("web", 8080, stays, released, handed), leased("game", "public", 7001))
	name := id.Group().String()
	do := func(code int, args ...string) result {
		t.Helper()
		return mustRun(t, code, append(args, "--config", config)...)
	}
	do(6, "diff", name).Says(t, "no definition of lease/"+name+" is kept in namespace "+ledger, "apply -f FILE", "diff -f FILE")
	do(0, "apply", "--wait=false", "-f", definition)
	if out := do(0, "diff", "lease/"+id.String()); out.Stdout != "" {
		t.Errorf("after the apply there is a difference: %s", out)
	}

	_, err := harness.Objects.Resource(ingresses).Namespace(id.Namespace()).Patch(t.Context(), stays, types.MergePatchType,
		[]byte(`{"spec":{"ingressClassName":"traefik"}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"})
	if err != nil {
		t.Fatal(err)
	}
	remove(t, services, id.Namespace(), lease.IPServiceName("game", 7001, lease.TCP))
	byLease, byFile := do(1, "diff", name), do(1, "diff", "-f", definition)
	since := regexp.MustCompile(` since \w+`)
	if since.ReplaceAllString(byLease.Stdout, "") != since.ReplaceAllString(byFile.Stdout, "") {
		t.Errorf("by the lease:\n%s\nby the file:\n%s", byLease.Stdout, byFile.Stdout)
	}
	byLease.Prints(t, "!     ingressClassName: traefik   owned by kubectl-edit", "service/"+lease.IPServiceName("game", 7001, lease.TCP))

	sibling := leaseOf(id.Owner, 2)
	do(0, "release", name, released, "endpoint/public")
	do(0, "transfer", handed, "--to", sibling.String(), "--assume-serving")
	out := do(1, "diff", name).Prints(t,
		"host/"+released+"\n!   not held: the lease has given it up", "endpoint/public 7001/tcp\n!   not held: ", "host/"+handed+"\n!   withheld: held by deployment "+sibling.Group().String())
	if strings.Contains(out.Stdout, "+   / -> web:80") || strings.Contains(out.Stdout, "service/") {
		t.Errorf("what was given up is claimed anew: %s", out)
	}
}

// What is lost of a lease comes back by the plan of its kept definition, and nothing else does.
func TestPlanOfALeaseIsCarriedOut(t *testing.T) {
	t.Parallel()
	id, domain := leaseOf(newOwner(), 1), newDomain()
	lost, released := "a."+domain, "b."+domain
	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 8080, lost, released)))
	mustRun(t, 0, "release", id.Group().String(), released)
	remove(t, ingresses, id.Namespace(), lost)
	saved := file(t, mustRun(t, 1, "diff", id.Group().String(), "-o", "json").Stdout)
	mustRun(t, 0, "apply", "--plan", saved).Prints(t, "ingress/"+lost+" created", "host/"+released+" left")
	need(t, ingresses, id.Namespace(), lost)
	held(t, released)
	mustRun(t, 1, "apply", "--plan", saved).Says(t, "the plan is out of date", "diff LEASE -o json")
}

// A lease in the place of a cluster's files is compared with the definition that they hold.
func TestDiffOfALeaseOnFiles(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newOwner(), 1), newDomain()
	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 8080, host)))
	remove(t, ingresses, id.Namespace(), host)
	folder := exportedFiles(t, id)
	onFiles(t, folder, id.Group().String()).Prints(t, "ingress/"+host)
}
