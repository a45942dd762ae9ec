package commands

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// planOf is the plan that a diff prints as data.
func planOf(t *testing.T, code int, args ...string) plan.Plan {
	t.Helper()
	out := mustRun(t, code, append([]string{"diff", "-o", "json"}, args...)...)
	var p plan.Plan
	if err := json.Unmarshal([]byte(out.Stdout), &p); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return p
}

// A diff writes nothing, an apply makes what the diff showed, and after it there is nothing to show.
func TestDiffIsWhatApplyDoes(t *testing.T) {
	t.Parallel()
	id, subnet := leaseOf(newOwner(), 1), newNet()
	one, two := newDomain(), newDomain()
	config := configure(t, "ip: {ranges: ["+subnet+"0/29]}")
	for _, definition := range []string{
		define(t, id, web("web", 8080, one), leased("game", "public", 7001)),
		define(t, id, web("web", 8081, one), leased("game", "public", 7002)),
		define(t, id, web("web", 8081, two)),
	} {
		p := startProxy(t, func(string) bool { return false })
		planned := planOf(t, 1, "--kubeconfig", p.kubeconfig, "--config", config, "-f", definition)
		if writes := p.sent("ingresses", "services", "providerhosts", "providerleasedips", "leases", "namespaces", "ipaddresspools"); len(writes) > 0 {
			t.Errorf("the diff wrote %q", writes)
		}
		done := mustRun(t, 0, "apply", "--wait=false", "--config", config, "-f", definition)
		words := map[plan.Action][]string{
			plan.Claim: {"claimed"}, plan.GiveUp: {"pruned"}, plan.Create: {"created"}, plan.Update: {"configured"}, plan.Delete: {"pruned"},
		}
		var want, got []string
		for _, c := range planned.Leases[0].Changes {
			if c.Action == plan.Claim && !takes(c) { // of a part that stays nothing is told
				continue
			}
			want = append(want, c.Kind+"/"+c.Name+" "+words[c.Action][0])
		}
		for line := range strings.Lines(done.Stdout) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " (")
			if _, action, _ := strings.Cut(line, " "); slices.Contains([]string{"claimed", "created", "configured", "pruned"}, action) {
				got = append(got, line)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) || len(got) == 0 {
			t.Errorf("planned:\n%s\ndone:\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
		}
		if out := mustRun(t, 0, "diff", "--config", config, "-f", definition); out.Stdout != "" {
			t.Errorf("after the apply there is still a difference: %s", out)
		}
	}
}

// A client's dry run prints the plan that a diff prints, and ends as the apply would.
func TestDryRunPrintsThePlan(t *testing.T) {
	t.Parallel()
	id, rival, host := leaseOf(newOwner(), 1), leaseOf(newOwner(), 1), newDomain()
	definition := define(t, id, web("web", 8080, host))
	diff := mustRun(t, 1, "diff", "-o", "json", "-f", definition)
	if dry := mustRun(t, 0, "apply", "--dry-run=client", "-o", "json", "-f", definition); dry.Stdout != diff.Stdout {
		t.Errorf("diff:\n%s\napply:\n%s", diff.Stdout, dry.Stdout)
	}
	held(t, host)
	mustRun(t, 0, "reserve", "--lease", rival.String(), host)
	mustRun(t, 4, "apply", "--dry-run=client", "-o", "yaml", "-f", definition).Prints(t, "refused: ").Says(t, "is refused: host "+host+" is held")
}

// A client's dry run shows of each object what changes of it, below kubectl's line; a server's the lines alone.
func TestDryRunShowsWhatChanges(t *testing.T) {
	t.Parallel()
	owner, domain := newOwner(), newDomain()
	id, stays, added, taken := leaseOf(owner, 1), "a."+domain, "b."+domain, "c."+domain
	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 8080, stays)))
	mustRun(t, 0, "apply", "-f", define(t, leaseOf(owner, 2), web("web", 8080, taken)))
	definition := define(t, id, strings.Replace(web("web", 8080, stays, added, taken), "hosts:", "http: {maxBodySize: 7777777}, hosts:", 1))
	untouched := fingerprint(t)
	body := "-     nginx.ingress.kubernetes.io/proxy-body-size: \"1048576\"   (akash-net)\n+     nginx.ingress.kubernetes.io/proxy-body-size: \"7777777\"\n"
	client := mustRun(t, 0, "apply", "--dry-run=client", "-f", definition).Prints(t,
		"host/"+added+" claimed (dry run)\n+   / -> web:80\n",
		"host/"+taken+" withheld (held by deployment "+leaseOf(owner, 2).Group().String()+") (dry run)\n",
		"ingress/"+added+" created (dry run)\n+   apiVersion: networking.k8s.io/v1\n",
		"ingress/"+stays+" configured (dry run)\n  metadata.annotations\n", body,
		"lease "+id.Group().String()+" is applied: 2 hosts, 1 withheld")
	if strings.Count(client.Stdout, "withheld (held") != 1 {
		t.Errorf("what is withheld is told twice: %s", client)
	}
	server := mustRun(t, 0, "apply", "--dry-run=server", "-f", definition).Prints(t, "ingress/"+stays+" configured (server dry run)\n")
	if strings.Contains(server.Stdout, "proxy-body-size") {
		t.Errorf("the server's dry run shows fields: %s", server)
	}
	names := mustRun(t, 0, "apply", "--dry-run=client", "-o", "name", "-f", definition)
	if strings.Contains(names.Stdout, "proxy-body-size") || !strings.Contains(names.Stdout, "ingress/"+stays+"\n") {
		t.Errorf("the names are %s", names)
	}
	mustRun(t, 4, "apply", "--dry-run=client", "-f", define(t, leaseOf(newOwner(), 1), web("web", 8080, stays))).
		Prints(t, "!   refused: host "+stays+" is held").Says(t, stays+" is held by another lease", "HELD BY")
	for name, version := range fingerprint(t) {
		if was := untouched[name]; strings.Contains(name, domain) && was != version {
			t.Errorf("%s is %s, and was %q", name, version, was)
		}
	}
}

// takes is true for a change of a claim that takes a part of it.
func takes(c plan.Change) bool {
	for part := range c.After {
		if _, was := c.Before[part]; !was {
			return true
		}
	}
	return false
}

// The hash of the definition is not shown beside other fields, and an object of which nothing else changes is one line. The numbers
// of the changes are the same in a diff, in a client's dry run and in a server's.
func TestDiffCountsChanges(t *testing.T) {
	t.Parallel()
	id, domain := leaseOf(newOwner(), 1), newDomain()
	stays, gone, added := "a."+domain, "b."+domain, "c."+domain
	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 8080, stays, gone)))
	definition := define(t, id, strings.Replace(web("web", 8080, stays, added), "hosts:", "http: {maxBodySize: 7777777}, hosts:", 1))
	const counts = "\n1 claim, 2 create, 2 update, 2 delete, 1 release\n"
	diff := mustRun(t, 1, "diff", "-f", definition).Prints(t,
		"providerhost/"+stays+" in namespace lease: only the definition's hash changes\nproviderhost/"+added+" ",
		"ingress/"+stays+" in namespace "+id.Namespace()+"\n  metadata.annotations\n-     nginx.ingress.kubernetes.io/proxy-body-size", counts)
	if lines := lines(diff.Stdout, lease.AnnotationDefinition); len(lines) != 2 || !strings.HasPrefix(lines[0], "+   ") {
		t.Errorf("the hash of the definition is shown of more than what is created: %q", lines)
	}
	mustRun(t, 0, "apply", "--dry-run", "-f", definition).Prints(t,
		"providerhost/"+stays+" configured (only the definition's hash changes) (dry run)\nproviderhost/"+added+" created", counts)
	mustRun(t, 0, "apply", "--dry-run=server", "-f", definition).Prints(t, counts)
	names := mustRun(t, 1, "diff", "-o", "name", "-f", definition)
	want := []string{"host/" + added, "providerhost/" + stays, "providerhost/" + added, "ingress/" + stays, "ingress/" + added,
		"ingress/" + gone, "providerhost/" + gone, "host/" + gone}
	if got := strings.Split(strings.TrimSpace(names.Stdout), "\n"); !slices.Equal(got, want) {
		t.Errorf("the names are %q, want %q", got, want)
	}
	mustRun(t, 0, "release", "--dry-run=client", id.Group().String()).Prints(t, "\n4 delete, 2 release, 1 left\n")
	mustRun(t, 0, "apply", "-f", definition)
	mustRun(t, 0, "diff", "-o", "name", "-f", definition).Prints(t)
}

// A value that another manager owns is shown with its owner, and apply refuses to overwrite it.
func TestDiffShowsConflicts(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newOwner(), 1), newDomain()
	definition := define(t, id, web("web", 8080, host))
	mustRun(t, 0, "apply", "-f", definition)
	_, err := harness.Objects.Resource(ingresses).Namespace(id.Namespace()).Patch(t.Context(), host, types.MergePatchType,
		[]byte(`{"spec":{"ingressClassName":"traefik"}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"})
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, 1, "diff", "-f", definition).Prints(t, "ingress/"+host, "!     ingressClassName: traefik   owned by kubectl-edit", "+     ingressClassName: akash-ingress-class")
	mustRun(t, 1, "apply", "-f", definition).Says(t, "kubectl-edit")
}

// What another owner holds, or another deployment of the owner, is a difference too.
func TestDiffOfWhatOthersHold(t *testing.T) {
	t.Parallel()
	owner, host := newOwner(), newDomain()
	mustRun(t, 0, "apply", "-f", define(t, leaseOf(owner, 1), web("web", 8080, host)))
	mustRun(t, 1, "diff", "-f", define(t, leaseOf(newOwner(), 1), web("web", 8080, host))).Prints(t, "refused: host "+host+" is held by lease "+owner)
	second := define(t, leaseOf(owner, 2), web("web", 8080, host))
	mustRun(t, 1, "diff", "-f", second).Prints(t, "host/"+host, "withheld: held by deployment "+owner)
}

// Exit code 6 tells a diff that failed from one that found differences.
func TestDiffThatFails(t *testing.T) {
	t.Parallel()
	definition := define(t, leaseOf(newOwner(), 1), web("web", 8080, newDomain()))
	mustRun(t, 6, "diff", "--server", "http://127.0.0.1:1", "-f", definition)
	mustRun(t, 2, "diff", "-o", "wide", "-f", definition)
	mustRun(t, 3, "diff", "-f", file(t, "version: 7"))
}

// KUBECTL_EXTERNAL_DIFF gets two folders, as from kubectl.
func TestExternalDiff(t *testing.T) {
	id, host := leaseOf(newOwner(), 1), newDomain()
	definition := define(t, id, web("web", 8080, host))
	t.Setenv("KUBECTL_EXTERNAL_DIFF", "diff -u -N ;rm")
	out := mustRun(t, 1, "diff", "-f", definition).Prints(t, "+kind: Ingress", "+    net.akash.network/definition: ")
	if !strings.Contains(out.Stdout, "ingress."+id.Namespace()+"."+host) {
		t.Errorf("the Ingress has no file of its own: %s", out)
	}
	mustRun(t, 0, "apply", "-f", definition)
	mustRun(t, 0, "diff", "-f", definition)
	failing := filepath.Join(t.TempDir(), "failing")
	if err := os.WriteFile(failing, []byte("#!/bin/sh\nexit 2\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECTL_EXTERNAL_DIFF", failing)
	mustRun(t, 6, "diff", "-f", definition)
	t.Setenv("KUBECTL_EXTERNAL_DIFF", "no-such-program")
	mustRun(t, 6, "diff", "-f", definition)
}
