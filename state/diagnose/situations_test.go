package diagnose

import (
	"cmp"
	"fmt"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
)

// What is found in a situation, and how its things are explained: testdata has a block for each situation; `go test
// ./state/diagnose -rewrite` writes what is said. It is minute 10, the ranges are 203.0.113.0/30, a run counts as crashed after
// two minutes, and every lease has its namespace. A block has a line for each object (claims and leases as claimtest says them):
//
//	claim CLAIM [| FIELD...]                         written when it was made, or "written=N" at the end of the claim
//	KIND LEASE HOST [SERVICE:PORT] [WORD...]         a ProviderHost or a route of this program's; words are akash, nobody (by hand),
//	                                                 redirect, path=/v1, definition=H, written=N, unlabelled, takes=HOST[/PATH] and
//	                                                 class=C (what an Ingress takes now, whatever its name is; none), and fields
//	service LEASE PORT [asks=A] [has=A] [akash]      a Service of the endpoint "public", and fields
//	leasedip LEASE PORT [akash]                      its ProviderLeasedIP, and fields
//	object KIND LEASE NAME [FIELD...]                any other object of this program's
//	use HOST|ADDRESS KIND NAMESPACE/NAME [FIELD...]  what somebody else's object uses
//	node NAME ADDRESS                                the address of a node
//	pool [their] NAME RANGE..., pool none            instead of the pool of the range
//	config blocked=HOST | mode=pool | ranges=R,R | wildcards | FIELD
//	gone LEASE, lives LEASE                          whether its namespace is there
//	run NONCE LEASE renewed=N [fenced-by=NONCE] [FIELD...], run none
//	                                                 the announcement of a command. A mark of a claim has one, renewed in minute 0
//	own NONCE, closed NONCE, ledger [going]          the command that asks, the uninstall that has closed the ledger
//	kept LEASE HOST[/PATH]... [FIELD...]             its kept definition, with port 443 of the endpoint "public" too; "-" is one of no lease
//	order NAME [lost] [FIELD...]                     the reservation of the order of A/1
//	record WANTED [FIELD...]                         a DNS record of A/1 that is 192.0.2.1
//	manifest LEASE [FIELD...]                        what this program runs
//	failing LEASE [group] [FIELD...]                 a lease at which the reconciler fails
//	lacks, finds                                     whether Akash's hostname operator finds what it needs for ProviderHosts
//	patience DURATION                                how long a run may go without renewing
//	unserved TEXT, unrecorded TEXT                   what an Ingress lacks, what a missing DNS record waits for
//	report HOST [FIELD...]                           a router's report
//	suspended LEASE                                  a person lets the reconciler leave it as it is
//	services none, slices none|unread, answers LEASE SERVICE PORT READY/TOTAL
//
// A field is Name=value, Name alone for true, "nil" for nothing, "_" for a blank; of what the cluster knows of a route or a Service beside
// the object it begins with There or Service, of both with Use. The command is "problems [KIND]", "explain THING", or
// "reservation". After "problems KIND", "beside" has
// situations that differ: "NAME: STEP ; STEP", where "-2" leaves the second line out, "2+ WORDS" adds to it, "2= LINE" is in its
// place, "+ LINE" is one more.
func TestSituations(t *testing.T) {
	unseen := slices.Clone(state.ProblemKinds)
	for _, file := range []string{"situations.txt", "problems.txt", "explained.txt"} {
		var before []string
		var kind string
		datadriven.RunTest(t, "testdata/"+file, func(t *testing.T, d *datadriven.TestData) string {
			lines := strings.Split(strings.TrimSpace(d.Input), "\n")
			var out strings.Builder
			switch d.Cmd {
			case "beside":
				for _, line := range lines {
					_, steps, _ := strings.Cut(line, ": ")
					found := kindsOf(situated(t, differing(t, before, steps)).find())
					if slices.Contains(found, kind) {
						t.Errorf("%s: %s is found too: %s", d.Pos, kind, line)
					}
					fmt.Fprintf(&out, "%s  =>  %s\n", line, strings.Join(found, " "))
				}
				return out.String()
			case "problems":
				found := situated(t, lines).find()
				for _, p := range found {
					out.WriteString(told(p))
				}
				if len(d.CmdArgs) > 0 {
					before, kind = lines, d.CmdArgs[0].Key
					unseen = slices.DeleteFunc(unseen, func(k string) bool { return k == kind })
					if !slices.Contains(kindsOf(found), kind) {
						t.Errorf("%s: no %s is found", d.Pos, kind)
					}
				}
			default:
				var x Explanation
				if d.Cmd == "reservation" {
					x = explainOrder(t, d.Input)
				} else {
					x = situated(t, lines).explain(t, d.CmdArgs[0].Key)
				}
				fmt.Fprintln(&out, x.Summary)
				if x.Missing {
					fmt.Fprintln(&out, "  (missing)")
				}
				for _, line := range slices.Concat(x.Facts, prefixed("-> ", x.Next)) {
					fmt.Fprintln(&out, "  "+line)
				}
			}
			if out.Len() == 0 {
				return "nothing\n"
			}
			return claimtest.Short(out.String())
		})
	}
	if len(unseen) > 0 {
		t.Errorf("no block has the problem %q", unseen)
	}
}

// explainOrder explains "order DSEQ missing" or a reservation as claimtest.WordOrder has it, with "uses=CPU" or "unread=TEXT".
func explainOrder(t *testing.T, line string) Explanation {
	t.Helper()
	f := OrderFacts{Order: lease.Order{Owner: "akash1a", DSeq: 7, GSeq: 1, OSeq: 1}, LedgerNamespace: "ledger", Now: statetest.Minute(10)}
	_, line, _ = strings.Cut(strings.TrimSpace(line), " ")
	line, unread, _ := strings.Cut(line, " unread=")
	line, uses, used := strings.Cut(line, " uses=")
	if f.Unread = strings.ReplaceAll(unread, "_", " "); used {
		cpu, _ := strconv.ParseUint(uses, 10, 64)
		f.Beyond = func(h inventory.Hold) inventory.Hold {
			return h.Minus(inventory.Hold{Nodes: map[string]inventory.Amounts{"n1": {CPU: cpu}}})
		}
	}
	if line != "7 missing" {
		f.Claim = claimtest.WordOrder(t, line)
	}
	return f.Explain()
}

// differing returns the lines of a situation that differs from another by steps.
func differing(t *testing.T, lines []string, steps string) []string {
	t.Helper()
	var more []string
	lines = slices.Clone(lines)
	for step := range strings.SplitSeq(steps, " ; ") {
		if added, adds := strings.CutPrefix(step, "+ "); adds {
			more = append(more, added)
			continue
		}
		number, words, _ := strings.Cut(step, " ")
		n, err := strconv.Atoi(strings.Trim(number, "-+="))
		if err != nil {
			t.Fatalf("%q is no step", step)
		}
		if strings.HasSuffix(number, "+") {
			words = lines[n-1] + " " + words
		}
		lines[n-1] = words
	}
	return append(lines, more...)
}

// situated returns the facts of a situation.
func situated(t *testing.T, lines []string) *facts {
	f := newExplained(t)
	if slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "pool ") }) {
		f.Contents.Pools = nil
	}
	for _, line := range lines {
		f.obey(t, strings.TrimSpace(line))
	}
	return f
}

// fieldsOf splits words into those of a line and fields, which begin with a capital.
func fieldsOf(words []string) (said, fields []string) {
	for _, word := range words {
		if word[0] >= 'A' && word[0] <= 'Z' {
			fields = append(fields, word)
		} else {
			said = append(said, word)
		}
	}
	return said, fields
}

// set sets the fields of v that are named with a prefix: There.Path=/v1.
func set(t *testing.T, v any, prefix string, fields []string) {
	t.Helper()
	for _, word := range fields {
		path, value, _ := strings.Cut(word, "=")
		path, found := strings.CutPrefix(path, prefix)
		if !found || prefix == "" && slices.Contains([]string{"There", "Use", "Service"}, strings.SplitN(path, ".", 2)[0]) {
			continue
		}
		at := reflect.ValueOf(v).Elem()
		for name := range strings.SplitSeq(path, ".") {
			if at.Kind() == reflect.Pointer && at.IsNil() {
				at.Set(reflect.New(at.Type().Elem()))
			}
			at = reflect.Indirect(at)
			if i, err := strconv.Atoi(name); err == nil {
				if i == at.Len() {
					at.Set(reflect.Append(at, reflect.Zero(at.Type().Elem())))
				}
				at = at.Index(i)
			} else {
				at = at.FieldByName(name)
			}
			if !at.IsValid() {
				t.Fatalf("%q: %T has no such field", word, v)
			}
		}
		setValue(t, at, value)
	}
}

var meant = regexp.MustCompile(`(ns|key|g|lease)\(([^)]*)\)`)

func setValue(t *testing.T, at reflect.Value, text string) {
	t.Helper()
	if at.SetZero(); text == "nil" {
		return
	}
	switch at.Addr().Interface().(type) {
	case *lease.ID:
		at.Set(reflect.ValueOf(claimtest.WordLease(t, text)))
		return
	case *lease.Group:
		at.Set(reflect.ValueOf(claimtest.WordLease(t, text).Group()))
		return
	case *time.Time:
		at.Set(reflect.ValueOf(minuteOf(t, text)))
		return
	case *netip.Addr:
		at.Set(reflect.ValueOf(netip.MustParseAddr(text)))
		return
	}
	switch at.Kind() {
	case reflect.Bool:
		at.SetBool(text != "false")
	case reflect.String:
		at.SetString(meant.ReplaceAllStringFunc(strings.NewReplacer("_", " ", `\n`, "\n").Replace(text), func(word string) string {
			of := meant.FindStringSubmatch(word)
			owner, endpoint, _ := strings.Cut(of[2], "@")
			id := claimtest.WordLease(t, owner)
			return map[string]string{"ns": id.Namespace(), "key": lease.SharingKey(id.Owner, endpoint), "g": id.Group().String(), "lease": id.String()}[of[1]]
		}))
	case reflect.Slice:
		for one := range strings.SplitSeq(text, ",") {
			element := reflect.New(at.Type().Elem()).Elem()
			setValue(t, element, one)
			at.Set(reflect.Append(at, element))
		}
	default:
		if _, err := fmt.Sscan(text, at.Addr().Interface()); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
}

// obey adds the object of a line.
func (f *facts) obey(t *testing.T, line string) {
	t.Helper()
	word, rest, _ := strings.Cut(line, " ")
	words, fields := fieldsOf(strings.Fields(rest))
	switch word {
	case "":
	case "claim":
		f.obeyClaim(t, rest)
	case "run":
		if words[0] == "none" {
			f.Runs = []*state.Announcement{}
			return
		}
		a := f.run(words[0], claimtest.WordLease(t, strings.Fields(rest)[1]).Group(), minuteOf(t, strings.TrimPrefix(words[1], "renewed=")))
		if len(words) > 2 {
			a.Phase, a.FencedBy = state.Fenced, strings.TrimPrefix(words[2], "fenced-by=")
		}
		set(t, a, "", fields[1:])
	case "gone":
		delete(f.Namespaces, claimtest.WordLease(t, rest).Namespace())
	case "lives":
		f.Namespaces[claimtest.WordLease(t, rest).Namespace()] = true
	case "config":
		f.configure(t, words)
		set(t, f.Config, "", fields)
	case "pool":
		if words[0] == "none" {
			return
		}
		ours := words[0] != "their"
		if !ours {
			words = words[1:]
		}
		f.Contents.Pools = append(f.Contents.Pools, poolOf(words[0], ours, words[1:]...))
		set(t, &f.Contents.Pools[len(f.Contents.Pools)-1], "", fields)
	case "service", "leasedip":
		f.port(t, word, rest)
	case "object":
		of := strings.Fields(rest)
		set(t, f.object(of[0], claimtest.WordLease(t, of[1]), of[2]), "", fields[1:])
	case "use":
		f.obeyUse(t, words, fields)
	case "node":
		f.Contents.NodeUses = append(f.Contents.NodeUses, state.Use{Kind: "node", Name: words[0], Address: netip.MustParseAddr(words[1])})
	case "own":
		f.Own = rest
	case "closed":
		f.ClosedBy = rest
	case "ledger":
		f.Namespaces[f.Config.LedgerNamespace] = rest != "going"
	case "kept":
		if rest[0] == '-' {
			f.Definitions = append(f.Definitions, KeptDefinition{})
		} else {
			f.keeps(claimtest.WordLease(t, fields[0]), words...)
			fields = fields[1:]
		}
		set(t, &f.Definitions[len(f.Definitions)-1], "", fields)
	case "order":
		f.reserves(words[0])
		if set(t, f.Contents.Reservations[len(f.Contents.Reservations)-1], "", fields); len(words) > 1 {
			f.Lost = map[string]bool{words[0]: true}
		}
	case "record":
		f.recorded(words[0])
		set(t, &f.Records[len(f.Records)-1], "", fields)
	case "manifest":
		f.runs(claimtest.WordLease(t, fields[0]))
		set(t, &f.Manifests[len(f.Manifests)-1], "", fields[1:])
	case "failing":
		id := claimtest.WordLease(t, fields[0])
		x := state.Failing{Lease: id.String()}
		if len(words) > 0 {
			x.Lease = id.Group().String()
		}
		set(t, &x, "", fields[1:])
		f.Failing = append(f.Failing, x)
	case "patience":
		var err error
		if f.CrashedAfter, err = time.ParseDuration(rest); err != nil {
			t.Fatal(err)
		}
	case "lacks":
		f.Lacks = func(lease.ID, string, uint16) string { return "no Manifest" }
	case "finds":
		f.Lacks = func(lease.ID, string, uint16) string { return "" }
	default:
		if !f.obeyExplained(t, word, words, fields, rest) {
			f.route(t, strings.ToLower(word), rest)
		}
	}
}

// obeyExplained adds what only explanations look at.
func (f *facts) obeyExplained(t *testing.T, word string, words, fields []string, rest string) bool {
	switch word {
	case "unserved":
		f.Unserved = map[string]string{claimtest.WordLease(t, "A/1").Namespace() + "/" + atHost: rest}
	case "report":
		r := state.Report{}
		set(t, &r, "", fields)
		f.Reports[words[0]] = []state.Report{r}
	case "unrecorded":
		f.Unrecorded[atHost] = rest
	case "suspended":
		f.Suspended = map[lease.Group]bool{claimtest.WordLease(t, rest).Group(): true}
	case "services":
		f.Contents.Backends.ResetServices(true)
	case "slices":
		f.Contents.Backends.ResetSlices(rest == "none")
	case "answers":
		of := strings.Fields(rest)
		var port uint16
		var ready, total int
		if _, err := fmt.Sscanf(strings.Join(of[2:], " "), "%d %d/%d", &port, &ready, &total); err != nil {
			t.Fatal(err)
		}
		f.answers(claimtest.WordLease(t, of[0]), of[1], lease.TCP, port, ready, total)
	default:
		return false
	}
	return true
}

func (f *facts) obeyClaim(t *testing.T, rest string) {
	text, fields, _ := strings.Cut(rest, " | ")
	text, written, _ := strings.Cut(text, " written=")
	c := claimtest.WordClaim(t, text)
	if c.Updated = c.Created; written != "" {
		c.Updated = minuteOf(t, written)
	}
	for _, g := range c.Writers() {
		f.inhabit(lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq, OSeq: 1, Provider: "akash1p"})
	}
	f.Contents.Claims = append(f.Contents.Claims, c)
	for _, p := range c.Parts {
		if p.Run != "" {
			f.run(state.NonceOf(p.Run), p.Lease.Group(), statetest.Minute(0))
		}
	}
	if c.Marked() {
		c.AtWork = f.Runs[len(f.Runs)-1].Stands(f.Now)
	}
	set(t, c, "", strings.Fields(fields))
}

// obeyUse: HOST|ADDRESS KIND NAMESPACE/NAME [FIELD...].
func (f *facts) obeyUse(t *testing.T, words, fields []string) {
	u := state.Use{Kind: words[1], Since: statetest.Minute(3), UID: "use"}
	at := strings.LastIndex(words[2], "/")
	setValue(t, reflect.ValueOf(&u.Namespace).Elem(), words[2][:at])
	u.Name = words[2][at+1:]
	var err error
	if u.Address, err = netip.ParseAddr(words[0]); err != nil {
		u.Host, u.Path, u.Service, u.Port = words[0], "/", "web", 80
	}
	set(t, &u, "", fields)
	if u.Host != "" {
		f.Uses[words[0]] = append(f.Uses[words[0]], u)
	} else {
		f.AddressUses[u.Address] = append(f.AddressUses[u.Address], u)
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

func (f *facts) port(t *testing.T, kind, rest string) {
	words := strings.Fields(rest)
	id := claimtest.WordLease(t, words[0])
	words, fields := fieldsOf(words[1:])
	f.inhabit(id)
	protocol, port := state.Part{Key: claimtest.WordKey(words[0])}.ProtocolPort()
	more := map[string]string{}
	for _, word := range words[1:] {
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
		set(t, s, "Service.", fields)
		if _, alone := more["alone"]; alone { // no Service in the book
			f.Contents.Services = f.Contents.Services[:len(f.Contents.Services)-1]
		}
	}
	o.Port.Protocol, o.Port.ExternalPort = protocol, port
	if _, akash := more["akash"]; akash {
		byAkash(o)
	}
	if written := more["written"]; written != "" {
		o.Written = minuteOf(t, written)
	}
	set(t, o, "", fields)
	if _, no := more["objectless"]; no {
		f.Objects = f.Objects[:len(f.Objects)-1]
	}
}

func (f *facts) route(t *testing.T, kind, rest string) {
	words := strings.Fields(rest)
	id := claimtest.WordLease(t, words[0])
	said, fields := fieldsOf(words[2:])
	var change []func(*state.Use)
	more := map[string]string{}
	for _, word := range said {
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
	if takes := more["takes"]; takes != "" {
		f.takes(o, takes, more["class"])
		words[1] = o.Uses[0].Host
	}
	if written := more["written"]; written != "" {
		o.Written = minuteOf(t, written)
	}
	if _, unlabelled := more["unlabelled"]; unlabelled {
		o.Labelled, o.Lost = false, []string{state.MarkLabels}
		o.Uses[0].Labelled = false
	}
	set(t, o, "", fields)
	there := &f.Uses[words[1]][len(f.Uses[words[1]])-1]
	set(t, &o.Uses[0], "Use.", fields)
	set(t, there, "Use.", fields)
	set(t, there, "There.", fields)
	if _, no := more["objectless"]; no {
		f.Objects = f.Objects[:len(f.Objects)-1]
	}
}

// takes makes a route of this program's one that takes a host and a path, whatever its name is, from the router of a class.
func (f *facts) takes(o *state.OwnObject, takes, class string) {
	host, path, below := strings.Cut(takes, "/")
	if path = "/" + path; !below {
		path = "/"
	}
	live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": map[string]any{
		"ingressClassName": cmp.Or(class, config.AkashIngressClass),
		"rules":            []any{map[string]any{"host": host, "http": map[string]any{"paths": []any{map[string]any{"path": path}}}}},
	}}}
	if class == "none" {
		unstructured.RemoveNestedField(live.Object, "spec", "ingressClassName")
	}
	live.SetAnnotations(map[string]string{lease.AnnotationDefinition: o.Definition})
	o.Routing = state.RoutingOf(live)
	was := o.Uses[0].Host
	o.Uses[0].Host, o.Uses[0].Path = host, path
	f.Uses[was] = f.Uses[was][:len(f.Uses[was])-1]
	f.Uses[host] = append(f.Uses[host], o.Uses[0])
}

func minuteOf(t *testing.T, text string) (at time.Time) {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return statetest.Minute(n)
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
