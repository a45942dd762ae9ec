package sim

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// leasesWithHosts are definitions of n leases with a host each, from a DSeq on.
func leasesWithHosts(t *testing.T, n int, first uint64) string {
	t.Helper()
	id := allLeases()[0]
	var text strings.Builder
	for i := range n {
		id.DSeq = first + uint64(i)
		fmt.Fprintf(&text, `---
apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata: {name: "%d"}
spec:
  lease: {owner: %s, dseq: %d, gseq: 1, oseq: 1, provider: %s}
  services: [{name: web, expose: [{port: 80, global: true, hosts: [h%d.example.org]}]}]
`, i, id.Owner, id.DSeq, id.Provider, i)
	}
	return inFile(t, text.String())
}

var doneLeases = regexp.MustCompile(`120 leases: (?:(\d+) live)?.*\d not processed`)

// bareClaims are the claims on hosts for which nothing was made.
func (o *outside) bareClaims() (bare []string) {
	made := map[string]bool{}
	for _, plural := range []string{"providerhosts", "ingresses"} {
		for _, object := range o.Objects(plural) {
			made[object.GetName()] = true
		}
	}
	for _, claim := range o.Objects("leases") {
		if name := claim.GetName(); strings.HasPrefix(name, "h") && !made[name] {
			bare = append(bare, name)
		}
	}
	return bare
}

// An interrupt ends an apply of many leases, wherever it comes: what is reported as done is settled, and claims for which
// nothing was made are given back. The same command finishes the rest.
func TestInterruptedApply(t *testing.T) {
	t.Parallel()
	const n = 120
	for _, at := range []struct {
		request string
		nth     int64
	}{{"PATCH leases/h", 50}, {"PATCH ingresses/h", 54}, {"PATCH providerhosts/h", 90}} {
		t.Run(at.request, func(t *testing.T) {
			o := fromOutside(t)
			definitions := leasesWithHosts(t, n, 1000)
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			var seen atomic.Int64
			o.each(func(request string) int {
				if strings.HasPrefix(request, at.request) && seen.Add(1) == at.nth {
					interrupt()
				}
				return 0
			})
			code, out := o.run(ctx, "apply", "-f", definitions)
			o.each(nil)
			m := doneLeases.FindStringSubmatch(out)
			if code != 130 || m == nil {
				t.Fatalf("exit code %d:\n%s", code, out)
			}
			done, _ := strconv.Atoi(m[1]) // 0 where none is live
			if bare := o.bareClaims(); len(bare) > 0 {
				t.Errorf("claimed, and nothing made: %q", bare)
			}
			hosts := o.must(t, 0, []string{"state", "hosts"})
			_, problems := o.run(t.Context(), "state", "--problems")
			active := strings.Count(hosts, "Active")
			if claiming := strings.Count(hosts, "Claiming"); active < done || claiming+active > n || strings.Contains(problems, "CrashedRun") && claiming == 0 {
				t.Errorf("%d are done, %d Active and %d Claiming:\n%s", done, active, claiming, problems)
			}
			for _, line := range strings.Split(hosts, "\n") {
				if host := strings.Fields(line); strings.Contains(line, "Active") && strings.Contains(problems, host[0]+" ") {
					t.Errorf("a problem of what is Active: %s\n%s", line, problems)
				}
			}
			o.must(t, 0, []string{"apply", "-f", definitions, "-o", "name"})
			o.must(t, 0, []string{"state", "--problems"}, "No problems")
		})
	}
}

// "release" is offered only where the command has made the lease: for a lease that was live it would be an outage.
func TestInterruptHint(t *testing.T) {
	t.Parallel()
	o := fromOutside(t)
	interrupted := func(at string, args ...string) string {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		o.each(func(request string) int {
			if strings.HasPrefix(request, at) {
				interrupt()
			}
			return 0
		})
		code, out := o.run(ctx, args...)
		if o.each(nil); code != 130 {
			t.Fatalf("exit code %d:\n%s", code, out)
		}
		return out
	}
	one, id := leasesWithHosts(t, 1, 1000), allLeases()[0]
	id.DSeq = 1000
	if out := interrupted("PATCH leases/df--", "apply", "-f", one); !strings.Contains(out, "Run the same command again to finish.") || strings.Contains(out, "akash-net release") {
		t.Errorf("of a new lease that has given everything back:\n%s", out)
	}
	o.must(t, 0, []string{"apply", "-f", one})
	more := inFile(t, strings.ReplaceAll(o.must(t, 0, []string{"state", "lease", id.Group().String(), "-o", "yaml"}), "h0.example.org", "other.example.org"))
	if out := interrupted("PATCH ingresses/", "apply", "-f", more, "--prune=false"); strings.Contains(out, "akash-net release") || !strings.Contains(out, "kubectl akash-net repair") {
		t.Errorf("of a live lease:\n%s", out)
	}
}

// A command that is interrupted while it waits for its turn has changed nothing, and no other command waits for it.
func TestInterruptBeforeTheTurn(t *testing.T) {
	t.Parallel()
	const n = 3
	to := allLeases()[0]
	to.DSeq = 1000
	for name, c := range map[string]struct {
		live bool
		args []string
	}{
		"apply":    {false, []string{"apply"}},
		"reserve":  {false, []string{"reserve"}},
		"release":  {true, []string{"release", "--all", "-y"}},
		"transfer": {true, []string{"transfer", "h1.example.org", "h2.example.org", "--to", to.String()}},
		"migrate":  {true, []string{"migrate", "--all", "--to", "httproute", "-y"}},
		"repair":   {true, []string{"repair"}},
	} {
		t.Run(name, func(t *testing.T) {
			o, definitions := fromOutside(t), leasesWithHosts(t, n, 1000)
			if err := o.ServeAll(); err != nil {
				t.Fatal(err)
			}
			if c.live {
				o.must(t, 0, []string{"apply", "-f", definitions})
			} else {
				c.args = append(c.args, "-f", definitions)
			}
			if name == "repair" {
				deleteObject(t, o.Server, "/apis/coordination.k8s.io/v1/namespaces/akash-net/leases/h1.example.org")
			}
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			var announced atomic.Bool
			o.each(func(request string) int {
				if strings.HasPrefix(request, "PATCH leases/run--") {
					announced.Store(true)
					interrupt()
				}
				return 0
			})
			code, out := o.run(ctx, c.args...)
			o.each(nil)
			if code != 130 || !announced.Load() {
				t.Fatalf("exit code %d, announced: %v\n%s", code, announced.Load(), out)
			}
			for _, object := range o.Objects("leases") {
				if name := object.GetName(); strings.HasPrefix(name, "run--") {
					t.Errorf("the announcement %s is left, which the next command takes for a living one:\n%v", name, object.Object["spec"])
				}
			}
		})
	}
}

// What an interrupted repair has mended is settled, and so is everything if it only could not look again.
func TestInterruptedRepair(t *testing.T) {
	t.Parallel()
	const n = 10
	for name, at := range map[string]struct {
		request        string
		nth            int64
		least, crashed int
	}{
		"in the middle":       {"PATCH leases/h", n, 4, 1},
		"when it looks again": {"GET v1/nodes", 2, n, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := fromOutside(t)
			o.must(t, 0, []string{"apply", "-f", leasesWithHosts(t, n, 1000)})
			for i := range n {
				deleteObject(t, o.Server, fmt.Sprintf("/apis/coordination.k8s.io/v1/namespaces/akash-net/leases/h%d.example.org", i))
			}
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			var seen atomic.Int64
			o.each(func(request string) int {
				if strings.HasPrefix(request, at.request) && seen.Add(1) == at.nth {
					interrupt()
				}
				return 0
			})
			code, out := o.run(ctx, "repair")
			o.each(nil)
			if code != 130 {
				t.Fatalf("exit code %d:\n%s", code, out)
			}
			hosts := o.must(t, 0, []string{"state", "hosts"})
			_, problems := o.run(t.Context(), "state", "--problems")
			// Also what has no claim yet is shown as Active, as its route serves.
			mended := n - strings.Count(problems, "\nRouteWithoutClaim ") - strings.Count(hosts, "Claiming")
			if crashed := strings.Count(problems, "\nCrashedRun "); mended < at.least || crashed > at.crashed {
				t.Errorf("%d of %d are mended, %d are CrashedRun:\n%s\n%s", mended, n, crashed, hosts, problems)
			}
			o.must(t, 0, []string{"repair"})
			o.must(t, 0, []string{"state", "--problems"}, "No problems")
		})
	}
}
