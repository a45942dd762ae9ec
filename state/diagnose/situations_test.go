package diagnose

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
)

// What is found in a situation, and how its things are explained: testdata has a block for each situation; `go test
// ./state/diagnose -rewrite` writes what is said. It is minute 10, the ranges are 203.0.113.0/30, a run counts as crashed after
// two minutes, and every lease has its namespace. A block has a line for each object (claims and leases as claimtest says them):
//
//	claim CLAIM                                      written when it was made, or "written=N" at the end of the line
//	KIND LEASE HOST [SERVICE:PORT] [WORD...]         a ProviderHost or a route of this program's; words are akash, nobody (by hand),
//	                                                 redirect, path=/v1, definition=H, written=N, unlabelled
//	service LEASE PORT [asks=A] [has=A] [akash]      a Service of the endpoint "public"
//	leasedip LEASE PORT [akash]                      its ProviderLeasedIP
//	pool [their] NAME RANGE...                       instead of the pool of the range
//	config blocked=HOST | mode=pool | ranges=R,R | wildcards
//	gone LEASE                                       its namespace is gone
//
//	run NONCE LEASE renewed=N [fenced-by=NONCE]      the announcement of a command
//
// The command is "problems", or "explain THING".
func TestSituations(t *testing.T) {
	for _, file := range []string{"situations.txt", "explained.txt"} {
		datadriven.RunTest(t, "testdata/"+file, func(t *testing.T, d *datadriven.TestData) string {
			f := newExplained(t)
			if strings.Contains("\n"+d.Input, "\npool ") {
				f.Contents.Pools = nil
			}
			for line := range strings.Lines(d.Input) {
				f.obey(t, strings.TrimSpace(line))
			}
			var out strings.Builder
			if d.Cmd == "problems" {
				for _, p := range f.find() {
					out.WriteString(told(p))
				}
				if out.Len() == 0 {
					return "nothing\n"
				}
				return claimtest.Short(out.String())
			}
			x := f.explain(t, d.CmdArgs[0].Key)
			fmt.Fprintln(&out, x.Summary)
			if x.Missing {
				fmt.Fprintln(&out, "  (missing)")
			}
			for _, line := range slices.Concat(x.Facts, prefixed("-> ", x.Next)) {
				fmt.Fprintln(&out, "  "+line)
			}
			return claimtest.Short(inShort.Replace(out.String()))
		})
	}
}

// obey adds the object of a line.
func (f *facts) obey(t *testing.T, line string) {
	t.Helper()
	word, rest, _ := strings.Cut(line, " ")
	words := strings.Fields(rest)
	switch word {
	case "":
	case "claim":
		text, written, _ := strings.Cut(rest, " written=")
		c := claimtest.WordClaim(t, text)
		if c.Updated = c.Created; written != "" {
			c.Updated = minuteOf(t, written)
		}
		for _, g := range c.Writers() {
			f.inhabit(lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq, OSeq: 1, Provider: "akash1p"})
		}
		f.Claims = append(f.Claims, c)
		for _, p := range c.Parts {
			if p.Run != "" {
				f.run(p.Run, p.Lease.Group(), statetest.Minute(0))
			}
		}
		if c.Marked() {
			c.AtWork = f.Runs[len(f.Runs)-1].Stands(f.Now)
		}
	case "run":
		renewed, by, _ := strings.Cut(strings.TrimPrefix(words[2], "renewed="), " ")
		a := f.run(words[0], claimtest.WordLease(t, words[1]).Group(), minuteOf(t, renewed))
		if len(words) > 3 {
			by = strings.TrimPrefix(words[3], "fenced-by=")
		}
		if by != "" {
			a.Phase, a.FencedBy = state.Fenced, by
		}
	case "gone":
		delete(f.Namespaces, claimtest.WordLease(t, words[0]).Namespace())
	case "config":
		f.configure(t, words)
	case "pool":
		ours := words[0] != "their"
		if !ours {
			words = words[1:]
		}
		f.Contents.Pools = append(f.Contents.Pools, poolOf(words[0], ours, words[1:]...))
	case "service", "leasedip":
		f.port(t, word, words)
	default:
		f.route(t, strings.ToLower(word), words)
	}
}

// inhabit gives a lease a namespace and a workload in it.
func (f *facts) inhabit(id lease.ID) {
	f.Namespaces[id.Namespace()] = true
	f.answers(id, "web", lease.TCP, 80, 2, 2)
}

func (f *facts) configure(t *testing.T, words []string) {
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "blocked":
			f.Config.Hosts.Blocked = append(f.Config.Hosts.Blocked, value)
		case "wildcards":
			f.Config.Hosts.Wildcards = true
		case "mode":
			f.Config.IP.Mode = value
		case "ranges":
			f.Config.IP.Ranges = statetest.Config(t, config.ModeRange, strings.Split(value, ",")...).IP.Ranges
		default:
			t.Fatalf("%q configures nothing", word)
		}
	}
}

func (f *facts) port(t *testing.T, kind string, words []string) {
	id := claimtest.WordLease(t, words[0])
	f.inhabit(id)
	protocol, port := state.Part{Key: claimtest.WordKey(words[1])}.ProtocolPort()
	more := map[string]string{}
	for _, word := range words[2:] {
		name, value, _ := strings.Cut(word, "=")
		more[name] = value
	}
	var o *state.OwnObject
	if kind == "leasedip" {
		o = f.declares(id)
		o.Name = lease.LeasedIPName(lease.SharingKey(id.Owner, "public"), protocol, port)
	} else {
		var has []string
		if more["has"] != "" {
			has = strings.Split(more["has"], ",")
		}
		o = f.asks(id, more["asks"], has...)
		s := &f.Contents.Services[len(f.Contents.Services)-1]
		s.Name, s.Protocol, s.Port = lease.IPServiceName("web", port, protocol), protocol, port
		f.answers(id, s.Name, protocol, port, 2, 2)
	}
	o.Port.Protocol, o.Port.ExternalPort = protocol, port
	if _, akash := more["akash"]; akash {
		byAkash(o)
	}
	if written := more["written"]; written != "" {
		o.Written = minuteOf(t, written)
	}
}

func (f *facts) route(t *testing.T, kind string, words []string) {
	id := claimtest.WordLease(t, words[0])
	var change []func(*state.Use)
	more := map[string]string{}
	for _, word := range words[2:] {
		name, value, _ := strings.Cut(word, "=")
		service, port, isBackend := strings.Cut(word, ":")
		if more[name] = value; isBackend {
			change = append(change, func(u *state.Use) {
				u.Service = service
				_, _ = fmt.Sscan(port, &u.Port)
			})
		}
	}
	if path := more["path"]; path != "" {
		change = append(change, func(u *state.Use) { u.Path = path })
	}
	if _, redirect := more["redirect"]; redirect {
		change = append(change, func(u *state.Use) { u.Redirect = true })
	}
	if _, nobody := more["nobody"]; nobody {
		u := state.Use{Kind: kind, Namespace: "default", Name: "by-hand", Host: words[1], Path: "/", Service: "web", Port: 80, Since: statetest.Minute(3)}
		for _, c := range change {
			c(&u)
		}
		f.Uses[words[1]] = append(f.Uses[words[1]], u)
		return
	}
	f.inhabit(id)
	o := f.routes(kind, id, words[1], change...)
	if path := more["path"]; path != "" {
		o.Name = lease.RouteName(words[1], path)
		o.UID += path
		o.Uses[0].Name, o.Uses[0].UID = o.Name, types.UID(o.UID)
	}
	if _, akash := more["akash"]; akash {
		byAkash(o)
	}
	if definition := more["definition"]; definition != "" {
		o.Definition = definition
	}
	if written := more["written"]; written != "" {
		o.Written = minuteOf(t, written)
	}
	if _, unlabelled := more["unlabelled"]; unlabelled {
		o.Labelled, o.Lost = false, []string{state.MarkLabels}
		o.Uses[0].Labelled = false
	}
}

func minuteOf(t *testing.T, text string) (at time.Time) {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return statetest.Minute(n)
}

// The words of the tables make the objects that they name.
func TestWordsOfSituations(t *testing.T) {
	f := newExplained(t)
	f.obey(t, "service A/1 443/tcp asks=203.0.113.0 has=203.0.113.1")
	if a := netip.MustParseAddr("203.0.113.1"); len(f.AddressUses[a]) != 1 || !f.AddressUses[a][0].Granted || len(f.Objects[0].Uses) != 2 {
		t.Errorf("the Service is %+v, its uses %v", f.Objects[0], f.AddressUses)
	}
}

// run announces a command, or sets when an announced one was last renewed.
func (f *facts) run(nonce string, g lease.Group, renewed time.Time) *state.Announcement {
	i := slices.IndexFunc(f.Runs, func(a *state.Announcement) bool { return a.Nonce == nonce })
	if i < 0 {
		a := announced(nonce, 0)
		i, a.Groups = len(f.Runs), []lease.Group{g}
		f.Runs = append(f.Runs, a)
	}
	f.Runs[i].Renewed = renewed
	return f.Runs[i]
}
