package commands

import "testing"

// An Ingress that serves a host without a claim, in the lease's own namespace, stops the claim and
// is named; its owner takes it over with --adopt.
func TestAdopt(t *testing.T) {
	t.Parallel()
	host, id := "old."+newDomain(), leaseOf(newOwner(), 1)
	makeNamespace(t, id)
	create(t, ingresses, ingressFor(host, id.Namespace(), nil))
	for _, verb := range []string{"check", "reserve"} {
		mustRun(t, 4, verb, "--lease", id.String(), host).Says(t, "ingress "+id.Namespace()+"/by-hand-"+host, "--adopt")
	}
	held(t, host)
	mustRun(t, 0, "explain", host).Prints(t, "has no claim, but objects use it", "reserve "+host+" --adopt")
	mustRun(t, 4, "reserve", "--adopt", "--lease", leaseOf(newOwner(), 9).String(), host)
	held(t, host)
	mustRun(t, 0, "reserve", "--adopt", "--lease", id.String(), host).Prints(t, "host/"+host+" claimed")
	held(t, host, "1 /")
}

// What belongs to nobody, or to somebody else, cannot be adopted.
func TestAdoptOfForeignIngress(t *testing.T) {
	t.Parallel()
	other := leaseOf(newOwner(), 9)
	makeNamespace(t, other)
	for name, namespace := range map[string]string{"of no lease": "default", "of another owner": other.Namespace()} {
		t.Run(name, func(t *testing.T) {
			host, id := "old."+newDomain(), leaseOf(newOwner(), 1)
			create(t, ingresses, ingressFor(host, namespace, nil))
			mustRun(t, 4, "reserve", "--adopt", "--lease", id.String(), host).Says(t, namespace+"/by-hand-"+host)
			held(t, host)
		})
	}
}
