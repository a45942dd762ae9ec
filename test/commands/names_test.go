package commands

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Things are named as they are printed, in every command that takes them; what does not exist is said to.
func TestNames(t *testing.T) {
	t.Parallel()
	domain, address, owner := newDomain(), newNet()+"1", newOwner(t)
	cfg := configure(t, "hosts: {wildcards: true}", "ip: {ranges: ["+address+"/32]}")
	do := func(code int, args ...string) result {
		t.Helper()
		return mustRun(t, code, append(args, "--config", cfg)...)
	}
	mine, other := leaseOf(owner, 1), leaseOf(owner, 2)
	endpoint := "names" + strings.TrimPrefix(strings.Split(domain, ".")[0], "n")
	do(0, "reserve", "host/shop."+domain, "Blog."+domain+".", "https://api."+domain+"/v2", "wildcard/*."+domain, "--address", "address/"+address, "--endpoint", endpoint, "--lease", "lease/"+mine.String(), "-o", "name").
		Prints(t, "host/shop."+domain+"\n", "host/blog."+domain+"\n", "host/*."+domain+"\n", "address/"+address+"\n")
	for _, name := range []string{"shop." + domain, "host/shop." + domain, "https://SHOP." + domain + "./"} {
		do(0, "explain", name).Prints(t, "shop."+domain+" is held by "+mine.Group().String())
	}
	do(0, "explain", "api."+domain+"/v2").Prints(t, "api."+domain+"/v2 is held by "+mine.Group().String())
	do(0, "explain", "api."+domain+"/v3").Prints(t, "is held by nobody, and only the owner of api."+domain+" can take it")
	for _, name := range []string{"endpoint/" + endpoint, endpoint, "address/" + address, "ip/" + address, address} {
		do(0, "explain", name).Prints(t, address)
	}
	do(0, "explain", "lease/"+mine.String(), mine.Group().String()).Prints(t, "lease "+mine.Group().String())

	// state shows what is named, as it is printed or without its kind, and says what is not there.
	shop := "host/shop." + domain + "\n"
	for args, want := range map[string]string{
		"hosts Shop." + domain + ".": shop,
		"hosts host/shop." + domain + " none." + domain + " --ignore-not-found": shop,
		"ips " + endpoint + " ip/" + address:                                    "address/" + address + "\n",
		"leases " + mine.Group().String():                                       "lease/" + mine.String() + "\n",
	} {
		if r := do(0, append([]string{"state", "-o", "name"}, strings.Fields(args)...)...); r.Stdout != want {
			t.Errorf("want %q: %s", want, r)
		}
	}
	if r := do(1, "state", "hosts", "shop."+domain, "none."+domain, "-o", "name").Says(t, "Error: host/none."+domain+" is not found among hosts"); r.Stdout != shop {
		t.Errorf("%s", r)
	}
	do(1, "state", "leases", other.Group().String(), "--watch").Says(t, "lease/"+other.Group().String()+" is not found among leases")
	do(1, "state", "hosts", "shop."+domain, "-n", other.Namespace()).Says(t, "is not found among hosts of namespace "+other.Namespace())

	do(1, "explain", other.Group().String()).Says(t, "Error: lease "+other.Group().String()+" holds nothing")
	do(0, "explain", other.Group().String(), "--ignore-not-found")
	do(1, "explain", "endpoint/nobody-has-this")
	do(1, "release", mine.String(), "host/none."+domain).Says(t, "host/none."+domain+" is not held by lease "+mine.Group().String())
	do(0, "release", mine.String(), "host/none."+domain, "--ignore-not-found")
	do(1, "transfer", "none."+domain, "--to", other.String()).Says(t, "host/none."+domain+" has no claim that can be transferred")

	do(0, "transfer", "host/shop."+domain, "endpoint/"+endpoint, "--to", "lease/"+other.String())
	held(t, "shop."+domain, "2 /")
	do(0, "release", "lease/"+other.String(), "host/shop."+domain, "endpoint/"+endpoint)
	held(t, "shop."+domain)
	do(0, "release", mine.Group().String(), "host/blog."+domain)
	do(0, "explain", "blog."+domain).Prints(t, "blog."+domain+" is free")
	if r := mustRun(t, 0, "explain", "*.w."+domain); strings.Contains(r.Stdout, "is free") {
		t.Errorf("a name that no lease can have is free: %s", r)
	}
}

// A lease is named as tables print it, wherever that is the name of one lease; of several, nothing is done, and their names are listed.
func TestNamesOfLeases(t *testing.T) {
	t.Parallel()
	owner, host, other := newOwner(t), newDomain(), newDomain()
	id, second := leaseOf(owner, uint64(1_000_000+harness.Number())), leaseOf(owner, uint64(1_000_000+harness.Number()))
	short := owner[:9] + "…" + owner[len(owner)-6:]
	group, dseq := id.Group().String(), strconv.FormatUint(id.DSeq, 10)
	unknown := leaseOf(newOwner(t), 9)
	mustRun(t, 2, "reserve", "--lease", id.Order().String(), host).Says(t, "the cluster does not know lease "+id.Order().String(), "name it in full")
	mustRun(t, 0, "reserve", "--config", configure(t, "provider: "+id.Provider), "--lease", id.Order().String(), host).Prints(t, "host/"+host+" claimed", group)
	mustRun(t, 0, "reserve", "--lease", second.String(), other)

	if rows := mustRun(t, 0, "leases", "--owner", short, "--dseq", dseq).Stdout; !strings.Contains(rows, short) || strings.Count(rows, "\n") != 2 {
		t.Errorf("the leases of owner %s and dseq %s are\n%s", short, dseq, rows)
	}
	for _, name := range []string{dseq, "lease/" + dseq, short + "/" + dseq, owner + "/" + dseq + "/1", id.Namespace(), strings.Replace(short, "…", "...", 1) + "/" + dseq + "/1"} {
		mustRun(t, 0, "explain", name).Prints(t, host)
		mustRun(t, 0, "state", "leases", name, "-o", "name").Prints(t, group)
	}
	if names := mustRun(t, 0, "leases", short, "-o", "name").Stdout; strings.Count(names, "\n") != 2 {
		t.Errorf("the owner's leases are\n%s", names)
	}
	// An input without a lease is given one by its short name, too.
	sdl := filepath.Join(t.TempDir(), "deploy.yaml")
	write(t, sdl, "version: \"2.0\"\nservices: {web: {image: nginx, expose: [{port: 80, accept: ["+newDomain()+"], to: [{global: true}]}]}}\n"+
		"profiles: {compute: {web: {resources: {cpu: {units: 1}, memory: {size: 16Mi}, storage: {size: 8Mi}}}}, placement: {here: {pricing: {web: {denom: uakt, amount: 1}}}}}\n"+
		"deployment: {web: {here: {profile: web, count: 1}}}\n")
	mustRun(t, 0, "check", "-f", sdl, "--lease", dseq).Prints(t, " free")
	mustRun(t, 0, "apply", "--dry-run=client", "-f", sdl, "--lease", short+"/"+dseq+"/1").Prints(t, group)
	mustRun(t, 2, "apply", "--dry-run=client", "-f", sdl, "--lease", short).Says(t, "is the name of 2 leases; type one of\n  "+id.String()+"\n  "+second.String())
	// A lease from which everything is withheld has a name, too, and can be transferred to.
	third := leaseOf(owner, uint64(1_000_000+harness.Number()))
	last := strconv.FormatUint(third.DSeq, 10)
	admin().do(t, "apply", "--assume-serving", "-f", defineParts(t, third, webPart(other))).Prints(t, other+" withheld", "is applied: 0 hosts, 1 withheld")
	mustRun(t, 0, "explain", last).Prints(t, third.Group().String())
	mustRun(t, 0, "transfer", other, "--to", last)
	mustRun(t, 0, "transfer", other, "--to", second.String())
	mustRun(t, 0, "release", last, "-y")
	mustRun(t, 0, "events", last).Prints(t, "Lost", third.Group().String())
	eventually(t, dseq+" is completed", func(ctx context.Context) (bool, error) { // a completion gives up soon where the machine is busy
		return strings.Contains("\n"+run(ctx, "__complete", "release", dseq[:len(dseq)-1]).Stdout, "\n"+dseq+"\n"), nil
	})
	mustRun(t, 0, "__complete", "explain", owner[:9]+"…").Prints(t, short+"/"+dseq+"/1")
	mistyped := id.Group()
	mistyped.GSeq = 7
	for _, tt := range []struct {
		code int
		args string
		says string
	}{
		{2, "release " + short, "is the name of 2 leases; type one of\n  " + group + "\n  " + second.Group().String()},
		{1, "release " + mistyped.String(), "lease/" + mistyped.String() + " holds nothing"},
		{1, "release " + mistyped.String(), "the nearest that holds something is " + group},
		{1, "release 999999999999", `no lease is named "999999999999"; "kubectl akash-net leases" lists`},
		{0, "release 999999999999 --ignore-not-found", ""},
		{1, "state hosts --owner akash1zzz…zzzzzz", `no lease is named "akash1zzz…zzzzzz"`},
		{2, "state hosts --owner " + owner[:len(owner)-1] + map[bool]string{true: "z", false: "x"}[strings.HasSuffix(owner, "x")], "--owner: "},
		{2, "transfer " + host + " --to " + unknown.Group().String(), "the cluster does not know lease " + unknown.Group().String()},
		{1, "release " + dseq + " " + host, "Release host/" + host + " held by " + group + "? [y/N]"},
		{1, "release " + dseq + " " + host, "nothing was released; -y answers the question"},
	} {
		mustRun(t, tt.code, strings.Fields(tt.args)...).Says(t, tt.says)
	}
	held(t, host, dseq+" /")
	mustRun(t, 0, "release", dseq, host, "-y").Prints(t, "host/"+host+" released")
	held(t, other, strconv.FormatUint(second.DSeq, 10)+" /")
	mustRun(t, 0, "release", short, "--dry-run=client").Prints(t, other)
	mustRun(t, 1, "release", short).Says(t, "Release everything held by "+second.Group().String()+"? [y/N]")
	mustRun(t, 0, "release", short, "-y").Prints(t, "host/"+other+" released")
	mustRun(t, 1, "release", id.Namespace())
}

// Leases to release are chosen by name, by their namespace or labels, or by a file that defines them; one that holds nothing is not found,
// unless a script says that this may be. A lease whose claim is gone is found by what it still serves.
func TestChosenLeases(t *testing.T) {
	t.Parallel()
	mine, other, lost := leaseOf(newOwner(t), 1), leaseOf(newOwner(t), 1), leaseOf(newOwner(t), 1)
	hosts := []string{newDomain(), newDomain(), newDomain()}
	one, two := define(t, mine, web("web", 80, hosts[0])), define(t, other, web("web", 80, hosts[1]))
	mustRun(t, 0, "apply", "-f", one, "-f", two, "-f", define(t, lost, web("web", 80, hosts[2])))
	remove(t, claims, ledger, hosts[2])
	mustRun(t, 0, "reserve", newDomain(), "--prune=false", "--lease", "lease/"+mine.Order().String()) // the cluster says which one is meant
	none, empty := leaseOf(mine.Owner, 2).Group().String(), leaseOf(newOwner(t), 1)
	broken := file(t, "apiVersion: net.akash.network/v1alpha1\nkind: LeaseDefinition\nspec: {leese: {}}\n")
	for _, tt := range []struct {
		code  int
		args  []string
		tells string
	}{
		{2, []string{mine.Group().String(), "-n", other.Namespace()}, "--namespace: can be used only with --all or --selector"},
		{2, []string{mine.String(), "-f", one}, "name the leases to release"},
		{2, []string{"-f", one, "-n", mine.Namespace()}, "the definitions name their leases"},
		{3, []string{"-f", one, "-f", broken}, "leese"},
		{1, []string{none}, "Error: lease/" + none + " holds nothing"},
		{0, []string{none, "--ignore-not-found"}, "lease/" + none + " skipped (holds nothing)"},
		{1, []string{"-l", lease.LabelOwner + "=" + empty.Owner}, "Error: no lease that holds anything has the labels " + lease.LabelOwner + "="},
		{1, []string{"-l", "owner=" + mine.Owner}, "Akash's labels of a lease are " + lease.LabelOwner},
		{0, []string{"-l", "owner=" + mine.Owner, "--ignore-not-found"}, ""},
		{1, []string{"--all", "-y", "-n", empty.Namespace()}, "no lease that holds anything is in namespace " + empty.Namespace() + "; looked at "},
		{0, []string{"--all", "-y", "-n", empty.Namespace(), "--ignore-not-found"}, "no lease that holds anything"},
		{0, []string{"-f", one, "-f", two, "--dry-run"}, "2 leases: 2 released, "},
		{0, []string{"-l", lease.LabelOwner + "=" + lost.Owner, "--dry-run"}, "ingress/" + hosts[2] + " deleted"},
	} {
		mustRun(t, tt.code, append([]string{"release"}, tt.args...)...).Tells(t, tt.tells)
	}
	held(t, hosts[0], "1 /")
	need(t, ingresses, lost.Namespace(), hosts[2])
	mustRun(t, 0, "release", "--all", "-y", "-n", lost.Namespace()).Prints(t, "ingress/"+hosts[2]+" deleted")
	mustRun(t, 1, "release", none, mine.Group().String()).Prints(t, "host/"+hosts[0]+" released").Says(t, "lease/"+none+" holds nothing")
	held(t, hosts[0])

	// A blocked host is a problem of its lease's namespace, and of no other.
	cfg := configure(t, "hosts: {blocked: ["+hosts[1]+"]}")
	mustRun(t, 2, "explain", hosts[1], "-n", other.Namespace()).Says(t, "--namespace does not limit explain")
	mustRun(t, 0, "state", "--problems", "-n", mine.Namespace(), "--config", cfg).Says(t, "No problems")
	mustRun(t, 1, "state", "--problems", "-n", other.Namespace(), "--config", cfg, "-o", "name").Prints(t, "BlockedHost/"+hosts[1])
	mustRun(t, 0, "repair", "-n", mine.Namespace(), "--config", cfg).Says(t, "Nothing to repair")
	mustRun(t, 1, "repair", "-n", other.Namespace(), "--config", cfg).Prints(t, hosts[1])
	mustRun(t, 1, "release", "-f", one, "-f", two).Prints(t, "host/"+hosts[1]+" released").Says(t, "lease/"+mine.Group().String()+" holds nothing")
	for _, args := range [][]string{{mine.Group().String()}, {"--all", "-y", "-n", mine.Namespace()}} {
		mustRun(t, 1, append([]string{"migrate", "--to", "httproute"}, args...)...).Tells(t, "route")
		mustRun(t, 0, append([]string{"migrate", "--to", "httproute", "--ignore-not-found"}, args...)...)
	}
}
