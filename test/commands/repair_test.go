package commands

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// What has changed since repair has looked is left as it is, and the line says so.
func TestRepairLeavesWhatHasChanged(t *testing.T) {
	t.Parallel()
	for kind, test := range map[string]struct {
		make func(t *testing.T, s scene)
		// before is the request before which it is changed.
		before func(s scene) string
		change func(t *testing.T, s scene)
		// stays fails the test unless what was changed is there.
		stays func(t *testing.T, s scene)
	}{
		state.TwoRoutes: {
			make: func(t *testing.T, s scene) {
				s.apply(t, web("web", 8080, s.host))
				s.rival(t)
			},
			before: func(s scene) string { return "DELETE ingresses/by-hand-" + s.host },
			change: func(t *testing.T, s scene) {
				change(t, ingresses, "default", "by-hand-"+s.host, func(o *object) {
					_ = unstructured.SetNestedField(o.Object, "other", "spec", "ingressClassName")
				})
			},
			stays: func(t *testing.T, s scene) { need(t, ingresses, "default", "by-hand-"+s.host) },
		},
		state.UnreadableClaim: {
			make: func(t *testing.T, s scene) {
				plant(t, state.HostWant{Host: s.host}.Hold(s.id), func(*state.Part) {})
				change(t, claims, ledger, s.host, func(o *object) { o.SetAnnotations(with(o.GetAnnotations(), state.AnnotationLedger, "v9")) })
			},
			before: func(s scene) string { return "DELETE leases/" + s.host },
			change: func(t *testing.T, s scene) {
				change(t, claims, ledger, s.host, func(o *object) { o.SetAnnotations(with(o.GetAnnotations(), state.AnnotationLedger, "v1")) })
			},
			stays: func(t *testing.T, s scene) { held(t, s.host, "1 /") },
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := scene{id: leaseOf(newOwner(t), 1), host: "changes." + newDomain(), plain: configure(t, "hosts: {wildcards: true}")}
			t.Cleanup(s.ends)
			test.make(t, s)
			var once sync.Once
			p := startProxy(t, nil)
			p.before = func(request string) {
				if strings.HasPrefix(request, test.before(s)) {
					once.Do(func() { test.change(t, s) })
				}
			}
			r := runAs(t.Context(), p.kubeconfig, "repair", "--config", s.plain, kind+"/"+s.host)
			test.stays(t, s)
			if got := lines(r.Stdout, kind+"/"+s.host+" "); len(got) != 1 {
				t.Errorf("want one line %s/%s …: %s", kind, s.host, r)
			}
		})
	}
}

// Only what is named is mended. A name that is no problem is an error, and then nothing is touched.
func TestRepairMendsNoMore(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newOwner(t), 1), "one."+newDomain()
	two, three := "two."+host, "three."+host
	t.Cleanup(func() { run(context.Background(), "release", "--assume-crashed", id.Group().String()) })
	for _, h := range []string{host, two, three} {
		plant(t, state.HostWant{Host: h}.Hold(id), func(p *state.Part) { p.Run = "crashed" })
	}
	repair := func(code int, names ...string) result {
		t.Helper()
		return mustRun(t, code, append([]string{"repair", "--crashed-after", "0s", "--assume-crashed"}, names...)...)
	}
	repair(1, "CrashedRun/"+host, "BlockedHost/"+host).Says(t, "BlockedHost/"+host+" is no problem of this cluster now, and nothing was changed")
	repair(1, "four."+host).Says(t, "nobody holds four."+host, "nothing was changed")
	mustRun(t, 2, "repair", "--crashed-after=59s").Says(t, "--crashed-after must be at least 1m, not 59s", "--assume-crashed")
	held(t, host, "1 /")
	repair(0, "CrashedRun/"+host)
	held(t, host)
	repair(0, "host/"+three).Prints(t, "CrashedRun/"+three+" repaired")
	held(t, three)
	held(t, two, "1 /")
}

// A crashed command that has left nothing but its announcement is a problem of its own, also where only some of its deployment groups
// have left something: repair watches it for as long as it lasts, and takes it away with what carries its mark.
func TestRepairTakesAnnouncementsAway(t *testing.T) {
	t.Parallel()
	took, host, nonce := leaseOf(newOwner(t), 1), "took."+newDomain(), state.NewNonce(time.Now())
	announce(t, leaseOf(newOwner(t), 1).Group(), nonce, time.Hour)
	bared := plant(t, state.HostWant{Host: host}.Hold(took), func(p *state.Part) { p.Run = "crashed" }).Parts[0].Run
	announce(t, took.Group(), bared, time.Hour, leaseOf(newOwner(t), 1).Group())
	mustRun(t, 0, "repair", "CrashedRun/"+host).Prints(t, "CrashedRun/"+host+" repaired")
	named := []string{"CrashedRun/" + state.AnnouncementName(nonce), "CrashedRun/" + state.AnnouncementName(bared)}
	mustRun(t, 0, "repair", named[0], named[1]).Prints(t, named[0]+" repaired (take its announcement away)", named[1]+" repaired (take its announcement away)")
	held(t, host)
	absent(t, claims, ledger, state.AnnouncementName(nonce))
	absent(t, claims, ledger, state.AnnouncementName(bared))
}

// A problem that is still there after the mend is left, not repaired: here one of Akash's operators has the
// Service, and the application of the definition does not write it.
func TestRepairSaysWhatIsStillThere(t *testing.T) {
	t.Parallel()
	subnet, id := newNet(), leaseOf(newOwner(t), 1)
	makePool(t, "confirm", subnet+"0/30", "")
	config := configure(t, "ip: {mode: pool, pool: confirm}")
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, id, leased("game", "public", 7001)))
	more := define(t, id, leased("game", "public", 7001), "{name: db, expose: [{port: 5432, global: true}]}")
	mustRun(t, 0, "apply", "--config", config, "--operators=on", "-f", more)
	name := "MixedDefinitions/" + id.Group().String()
	if kinds := problemsOf(t, config, id.Group().String()); len(kinds) != 1 {
		t.Fatalf("the problems are %q", kinds)
	}
	mustRun(t, 0, "repair", "--dry-run", "--config", config, "--operators=on", "-f", more, name).Prints(t, name+" repaired (")
	mustRun(t, 1, "repair", "--config", config, "--operators=on", "-f", more, name).Prints(t, name+" unconfirmed (it is still there after this: apply the definition")
	mustRun(t, 0, "repair", "--config", config, "-f", more, name).Prints(t, name+" repaired (")
	mustRun(t, 0, "release", "--config", config, id.Group().String())
}

// installRange installs a configuration with a range in which an administrator's pool has the first two addresses; a lease has the first.
// Until the test ends this is the cluster's configuration, so no other test runs beside.
func installRange(t *testing.T, subnet string) (config, ours, definition string, id lease.ID) {
	t.Helper()
	config, id = configure(t, "ip:", "  # ours", "  ranges: ["+subnet+"0/29]"), leaseOf(newOwner(t), 1)
	mustRun(t, 0, "install", "--config", config)
	t.Cleanup(func() {
		run(context.Background(), "release", id.Group().String())
		_ = harness.Objects.Resource(configMaps).Namespace(ledger).Delete(context.Background(), "config", metav1.DeleteOptions{})
		run(context.Background(), "install", "--config", file(t, sharedConfig))
	})
	definition = define(t, id, leased("game", "public", 7001))
	mustRun(t, 0, "apply", "-f", definition)
	makePool(t, "admin", subnet+"0/31", "")
	ours = rangePool(subnet, "0-29")
	removeLater(t, pools, metalLB, ours)
	return config, ours, definition, id
}

// Where our pool gives way to another the cluster's configuration excludes the addresses, so that the
// next apply does not ask for them; the tenant who has one keeps it. A repair that dies in between is
// finished by the next.
func TestRepairExcludesWhatOverlaps(t *testing.T) {
	subnet := newNet()
	config, ours, definition, id := installRange(t, subnet)
	name := "PoolOverlap/" + ours
	cut := startProxyOf(t, harness.Plane.Config, func(write string) bool { return write == "PATCH configmaps/config" })
	runAs(t.Context(), cut.kubeconfig, "repair", name, "--request-timeout=500ms").Exits(t, 1)
	harness.Run(t.Context(), "repair", name).Exits(t, 0).Prints(t, name+" repaired (take "+subnet+"0/31 out of pool "+ours+": pool admin serves it")
	document, _, _ := unstructured.NestedString(need(t, configMaps, ledger, "config").Object, "data", "config.yaml")
	if strings.Count(document, `"!`+subnet+`0/31"`) != 1 || !strings.Contains(document, "# ours") {
		t.Errorf("the configuration is\n%s", document)
	}
	if got := strings.Join(addressesOf(t, ours), " "); got != subnet+"2/31 "+subnet+"4/30" && got != subnet+"2-"+subnet+"7" {
		t.Errorf("pool %s has %s", ours, got)
	}
	mustRun(t, 0, "apply", "-f", definition).Prints(t, subnet+"0", "unchanged")
	next := leaseOf(newOwner(t), 1)
	mustRun(t, 0, "apply", "-f", define(t, next, leased("game", "public", 7001))).Prints(t, "granted "+subnet+"2")
	grants(t, id, "game-ip-7001-tcp", subnet+"0")
	mustRun(t, 0, "release", next.Group().String())
	mustRun(t, 0, "install", "--config", config) // the configuration is still install's to write
}

// Who may not write the configuration mends the pool, and is told the line.
func TestRepairWithoutTheConfiguration(t *testing.T) {
	subnet := newNet()
	_, ours, _, _ := installRange(t, subnet)
	runAs(t.Context(), bound(t, "akash-net-operator", "akash-net-operator"), "repair", "PoolOverlap/"+ours).Exits(t, 0).
		Prints(t, `add "!`+subnet+`0/31" to spec.ip.ranges of configmap akash-net/config, which is not yours to write`)
}
