package view

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
)

// What state shows of a ledger and a cluster: testdata has a block for each, and the rows it makes; `go test ./state/view
// -rewrite` writes them. A block is at minute 10, and has a line for each object (claims and leases as claimtest says them):
//
//	claim CLAIM
//	KIND LEASE NAME [SERVICE:PORT] [minute=N] [unaccepted] [nobody] [rendered]   a ProviderHost or a route
//	live KIND LEASE NAME [host=H] [path=P] [to=SERVICE:PORT] [class=C] [parent=GATEWAY[/LISTENER]] [exact] [akash]   a route as it is in the cluster
//	leasedip LEASE ENDPOINT PORT SERVICE [minute=N]
//	service LEASE ENDPOINT PORT SERVICE:PORT [asks=A] [has=A] [pool=P] [minute=N] [rendered] [edited]
//	pool [their] NAME RANGE... [counted=ASSIGNED/AVAILABLE]
//	backend LEASE …, slice LEASE …                                        as addBackend has them
//	order …                                                               as claimtest.WordOrder has it
//	DNSRecord|DNSEndpoint LEASE NAME HOST | SPEC | STATUS | METADATA      HOST is "-" where the object is not ours
//	{…}                                                                   any object, where NS(A/1) is the namespace of a lease, LABELS(A/1) its labels
//	config MODE [RANGE...] [pool=P] [families=both] [wildcards] [levels] [nodePorts=N-N]
//
// Its command is the subjects, with "selector=…" or "namespace=LEASE" where only some rows are asked for. The command "changes"
// has two parts, "then" between them, and shows what a watch shows of the second.
func TestTables(t *testing.T) {
	for _, name := range []string{"hosts", "routed", "ips", "leases", "pools", "endpoints", "changes", "records", "objects", "orders"} {
		datadriven.RunTest(t, "testdata/"+name+".txt", func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "changes" {
				before, now, _ := strings.Cut(d.Input+"\n", "then\n")
				subjects := []Subject{SubjectHosts, SubjectIPs, SubjectLeases, SubjectPools, SubjectRoutes, SubjectEndpoints, SubjectWorkloads, SubjectDNS, SubjectOrders}
				then := wordBook(t, now, false, subjects...)
				changes := then.Changes(wordBook(t, before, false, subjects...))
				if again := then.Changes(then); !again.Empty() || changes.WithWorkloads != then.WithWorkloads {
					t.Errorf("a book has changes to itself: %+v", again)
				}
				return sayBook(t, changes)
			}
			subjects, selector, namespace := []Subject{Subject(d.Cmd)}, labels.Everything(), ""
			for _, arg := range d.CmdArgs {
				switch arg.Key {
				case "selector":
					s, err := labels.Parse(strings.NewReplacer("OWNER-A", "akash1a").Replace(strings.Join(arg.Vals, ",")))
					if err != nil {
						t.Fatal(err)
					}
					selector = s
				case "namespace":
					namespace = claimtest.WordLease(t, arg.Vals[0]).Namespace()
				default:
					subjects = append(subjects, Subject(arg.Key))
				}
			}
			b := wordBook(t, d.Input, false, subjects...)
			said := sayBook(t, b)
			if b.Empty() != (said == "nothing\n") {
				t.Errorf("%s: it is empty: %t", d.Pos, b.Empty())
			}
			if again := sayBook(t, wordBook(t, d.Input, true, subjects...)); again != said && d.Cmd != "routes" {
				t.Errorf("%s: of claims that are added one by one the book is another:\n%s", d.Pos, again)
			}
			if b.Select(selector, namespace); selector.Empty() && namespace == "" {
				return said
			}
			return sayBook(t, b)
		})
	}
}

// wordContents reads the objects of a block. Its claims are added whole, or one by one as a command reads them.
func wordContents(t *testing.T, text string, oneByOne bool) (Contents, *config.ProviderConfig) {
	t.Helper()
	in, cfg, claims := Contents{Now: statetest.Minute(10)}, config.Default(), []*state.Claim{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case word == "":
		case word == "claim":
			claims = append(claims, claimtest.WordClaim(t, rest))
		case word == "leasedip":
			in.Ports = append(in.Ports, wordPort(t, rest))
		case word == "service":
			in.Services = append(in.Services, wordService(t, rest))
		case word == "pool":
			in.Pools = append(in.Pools, wordPool(t, rest))
		case word == "backend" || word == "slice":
			of, rest, _ := strings.Cut(rest, " ")
			addBackend(t, &in.Backends, claimtest.WordLease(t, of).Namespace(), word+" "+rest)
		case word == "order":
			in.Reservations = append(in.Reservations, claimtest.WordOrder(t, rest))
		case word == "config":
			cfg = wordConfig(t, strings.Fields(rest))
		case word == "DNSRecord" || word == "DNSEndpoint":
			in.Records = append(in.Records, wordRecord(t, word, rest))
		case word == "live":
			in.Add(wordLive(t, rest), "ledger")
		case word[0] == '{':
			in.Add(wordObject(t, line), "ledger")
		default:
			in.Hosts = append(in.Hosts, wordRoute(t, word, rest))
		}
	}
	for _, c := range claims {
		for _, p := range c.Parts { // every run is at work
			in.AddRuns(&state.Announcement{Nonce: p.Run, By: "ann@laptop", Begun: statetest.Minute(0), Renewed: in.Now, Lasts: time.Minute, Phase: state.Active})
		}
		if oneByOne {
			in.AddClaim(c, false)
			continue
		}
		c.Meet(in.Runs, in.Now)
		in.Claims = append(in.Claims, c)
	}
	return in, cfg
}

func wordBook(t *testing.T, text string, oneByOne bool, subjects ...Subject) *Book {
	t.Helper()
	in, cfg := wordContents(t, text, oneByOne)
	return NewBook(cfg, in, subjects...)
}

func wordConfig(t *testing.T, words []string) *config.ProviderConfig {
	t.Helper()
	pool, families, wildcards := "asked", []config.Family{config.IPv4}, false
	ports, levels := config.Default().Workloads.NodePorts, config.Default().CommitLevels
	words = slices.DeleteFunc(words, func(word string) bool {
		name, value, named := strings.Cut(word, "=")
		switch name {
		case "pool":
			if named {
				pool = value
			}
		case "families":
			families = []config.Family{config.IPv4, config.IPv6}
		case "wildcards":
			wildcards, named = true, true
		case "nodePorts":
			_, err := fmt.Sscanf(value, "%d-%d", &ports.First, &ports.Last)
			if err != nil {
				t.Fatal(err)
			}
		case "levels":
			levels, named = config.CommitLevels{CPU: 1.5, GPU: 2, Memory: math.MaxFloat64}, true
		}
		return named
	})
	cfg := statetest.Config(t, words[0], words[1:]...)
	cfg.Workloads.NodePorts, cfg.CommitLevels = ports, levels
	cfg.IP.Pool, cfg.IP.Families, cfg.Hosts.Wildcards = pool, families, wildcards
	return cfg
}

var ofLease = regexp.MustCompile(`(NS|LABELS)\(([^)]*)\)`)

// wordObject reads an object from YAML.
func wordObject(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	text = ofLease.ReplaceAllStringFunc(text, func(word string) string {
		parts := ofLease.FindStringSubmatch(word)
		id := claimtest.WordLease(t, parts[2])
		if parts[1] == "NS" {
			return id.Namespace()
		}
		labels, _ := yaml.Marshal(id.Labels())
		return strings.ReplaceAll(strings.TrimSpace(string(labels)), "\n", ", ")
	})
	o := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = json.Unmarshal(data, &o.Object) // numbers as the API server's client has them
	}
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return o
}

func wordRecord(t *testing.T, kind, text string) RecordObject {
	parts := append(strings.Split(text, "|"), "", "", "")
	words := strings.Fields(parts[0])
	id := claimtest.WordLease(t, words[0])
	o := wordObject(t, fmt.Sprintf("{kind: %s, spec: {%s}, status: {%s}, metadata: {%s}}", kind, parts[1], parts[2], parts[3]))
	o.SetNamespace(id.Namespace())
	o.SetName(words[1])
	o.SetLabels(id.Labels())
	if words[2] != "-" {
		annotations := map[string]string{lease.AnnotationHost: words[2]}
		maps.Copy(annotations, o.GetAnnotations())
		o.SetAnnotations(annotations)
	}
	return RecordObjectOf(o)
}

// said returns the optional words of a line: minute=3 and so on.
func said(words []string) (minute int, values map[string]string) {
	values = map[string]string{}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		if values[name] = value; name == "minute" {
			minute, _ = strconv.Atoi(value)
		}
	}
	return minute, values
}

func wordBackend(text string) (service string, port uint16) {
	service, number, _ := strings.Cut(text, ":")
	n, _ := strconv.ParseUint(number, 10, 16)
	return service, uint16(n)
}

func wordRoute(t *testing.T, kind, text string) state.HostObject {
	words := strings.Fields(text)
	id := claimtest.WordLease(t, words[0])
	minute, more := said(words[2:])
	namespace := id.Namespace()
	if kind == "ProviderHost" {
		namespace = "lease"
	}
	meta := statetest.Meta(id, namespace, words[1], minute)
	if _, nobody := more["nobody"]; nobody {
		meta.Labels = map[string]string{lease.LabelOwner: id.Owner}
	}
	o := state.HostObjectOf(kind, meta)
	if len(words) > 2 && strings.Contains(words[2], ":") {
		o.Whole = true
		o.Service, o.Port = wordBackend(words[2])
	}
	if _, un := more["unaccepted"]; un {
		o.Whole, o.Unaccepted = true, "no controller has accepted it"
	}
	_, o.Rendered = more["rendered"]
	return o
}

// wordLive returns a route of shop.example.com to web:80 by the default configuration, except for what the words say.
func wordLive(t *testing.T, text string) *unstructured.Unstructured {
	words := strings.Fields(text)
	_, more := said(words[3:])
	value := func(name, otherwise string) string {
		if v, ok := more[name]; ok {
			return v
		}
		return otherwise
	}
	host, path := value("host", "shop.example.com"), value("path", "/")
	service, port := wordBackend(value("to", "web:80"))
	kind, spec := "Prefix", ""
	if _, exact := more["exact"]; exact {
		kind = "Exact"
	}
	version := "gateway.networking.k8s.io/v1"
	switch words[0] {
	case "Ingress":
		version = "networking.k8s.io/v1"
		spec = fmt.Sprintf("ingressClassName: %q, rules: [{host: %q, http: {paths: [{path: %s, pathType: %s, backend: {service: {name: %s, port: {number: %d}}}}]}}]",
			value("class", "akash-ingress-class"), host, path, kind, service, port)
	case "Route":
		version = "route.openshift.io/v1"
		spec = fmt.Sprintf("host: %q, path: %s, to: {name: %s}, port: {targetPort: %d}", host, path, service, port)
	default:
		gateway, listener, _ := strings.Cut(value("parent", "akash-gateway"), "/")
		spec = fmt.Sprintf("parentRefs: [{name: %s, namespace: akash-gateway, sectionName: %q}], hostnames: [%q], rules: [{matches: [{path: {type: PathPrefix, value: %s}}], backendRefs: [{name: %s, port: %d}]}]",
			gateway, listener, host, path, service, port)
	}
	definition := lease.AnnotationDefinition + ": d"
	if _, akash := more["akash"]; akash {
		definition = ""
	}
	return wordObject(t, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s, namespace: NS(%s), labels: {LABELS(%[4]s)}, annotations: {%s}}, spec: {%s}}",
		version, words[0], strings.Replace(words[2], "PT", lease.RouteName("shop.example.com", path), 1), words[1], definition, spec))
}

func wordPort(t *testing.T, text string) state.PortObject {
	words := strings.Fields(text)
	id := claimtest.WordLease(t, words[0])
	protocol, port := state.Part{Key: claimtest.WordKey(words[2])}.ProtocolPort()
	minute, _ := said(words[4:])
	meta := statetest.Meta(id, "lease", lease.LeasedIPName(lease.SharingKey(id.Owner, words[1]), protocol, port), minute, "service-name", words[3])
	return state.PortObjectOf(meta)
}

func wordService(t *testing.T, text string) state.ServiceObject {
	words := strings.Fields(text)
	id := claimtest.WordLease(t, words[0])
	minute, more := said(words[4:])
	s := state.ServiceObject{
		Labelled:   state.LabelledOf("Service", statetest.Meta(id, id.Namespace(), "s-"+strings.ReplaceAll(words[2], "/", "-"), minute)),
		SharingKey: lease.SharingKey(id.Owner, words[1]), Pool: more["pool"],
	}
	s.Protocol, s.Port = state.Part{Key: claimtest.WordKey(words[2])}.ProtocolPort()
	s.Service, s.ContainerPort = wordBackend(words[3])
	s.Asked, s.Granted = wordAddresses(more["asks"]), wordAddresses(more["has"])
	_, s.Rendered = more["rendered"]
	_, s.Edited = more["edited"]
	return s
}

func wordAddresses(text string) (addresses []netip.Addr) {
	for word := range strings.SplitSeq(text, ",") {
		if word != "" {
			addresses = append(addresses, netip.MustParseAddr(word))
		}
	}
	return addresses
}

func wordPool(t *testing.T, text string) state.PoolObject {
	words := strings.Fields(text)
	o := state.PoolObject{Ours: words[0] != "their"}
	if !o.Ours {
		words = words[1:]
	}
	o.Name = words[0]
	for _, word := range words[1:] {
		if _, err := fmt.Sscanf(word, "counted=%d/%d", &o.Assigned, &o.Available); err == nil {
			o.Counted = true
			continue
		}
		r, err := config.ParseRange(word)
		if err != nil {
			t.Fatal(err)
		}
		o.Texts, o.Ranges = append(o.Texts, word), append(o.Ranges, r)
	}
	return o
}

func sayBook(t *testing.T, b *Book) string {
	var out strings.Builder
	say := func(format string, args ...any) {
		text := strings.Join(strings.Fields(claimtest.Short(fmt.Sprintf(format, args...))), " ")
		fmt.Fprintln(&out, text)
	}
	tenant := func(t *Tenant) string {
		if t.Lease == "" {
			return "owner " + t.Owner
		}
		return t.Lease
	}
	minute := func(at metav1.Time) string {
		if at.IsZero() {
			return "since ?"
		}
		return fmt.Sprintf("since %d", int(at.Sub(statetest.Start).Minutes()))
	}
	more := func(claimed bool, expires, message string, e *Endpoints) string {
		text := ""
		if e != nil && e.Missing != "" {
			text += " no " + e.Missing
		} else if e != nil {
			text += fmt.Sprintf(" ready %d/%d", e.Ready, e.Total)
		}
		if !claimed {
			text += " unclaimed"
		}
		if expires != "" {
			text += " ends " + expires[len("2026-11-18T"):]
		}
		if message != "" {
			text += " (" + message + ")"
		}
		return text
	}
	for _, r := range b.Hosts {
		if r.State == StateActive && !r.Routed || r.State == StatePending && r.Routed {
			t.Errorf("%s%s is %s, and routed: %t", r.Host, r.Path, r.State, r.Routed)
		}
		say("%s%s %s %s %s:%d %s %s%s %s", r.Host, r.Path, r.State, tenant(r.Tenant), r.Service, r.Port, r.Target, minute(r.Since), more(r.Claimed, r.Expires, r.Message, r.Endpoints), r.Unserved)
	}
	for _, r := range b.IPs {
		address := "-"
		if r.Address.IsValid() {
			address = r.Address.String()
		}
		say("%s %s %s %d/%s of %s %s:%d pool %s %s%s", address, r.State, tenant(r.Tenant), r.Port, r.Protocol, r.SharingKey, r.Service, r.ContainerPort, r.Pool, minute(r.Since), more(r.Claimed, r.Expires, r.Message, r.Endpoints))
	}
	for _, r := range b.Leases {
		say("%s %s hosts %v addresses %v %s", tenant(r.Tenant), r.State, r.Hosts, r.Addresses, minute(r.Since))
		if r.Workloads != nil {
			say("workloads: %s", statetest.Say(r.Workloads))
		}
	}
	for _, r := range b.Pools {
		say("%s %v %s: %d addresses, %d used, %d free", r.Name, r.Ranges, r.Mode, r.Addresses, r.Used, r.Free)
	}
	for _, r := range b.Routes {
		say("%s %s", r.Pattern(), statetest.Say(r))
	}
	for _, r := range b.DNS {
		r.Tenant = &Tenant{Lease: r.Lease}
		say("%s", statetest.Say(r))
	}
	for _, r := range b.Resources {
		say("%s", statetest.Say(r))
	}
	for _, r := range b.Orders {
		r.Tenant = &Tenant{Lease: r.Lease, Provider: r.Provider}
		say("%s", statetest.Say(r))
	}
	if edited := b.EditedLeases(); len(edited) > 0 {
		say("edited: %v", edited)
	}
	if hosts, ports := b.Unclaimed(); hosts+ports > 0 {
		say("rendered, and claimed by nobody: %d hosts, %d ports", hosts, ports)
	}
	if end := b.NextEnd(statetest.Minute(10)); !end.IsZero() {
		say("the next end is at %s", end.Format("04:05"))
	}
	if out.Len() == 0 {
		return "nothing\n"
	}
	return out.String()
}

// Group and kind identify objects, from a cluster or a folder: a Lease counts only in the ledger, a Service only if it is for
// MetalLB. Each object is used once in each list.
func TestContents(t *testing.T) {
	datadriven.RunTest(t, "testdata/contents.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			var c Contents
			c.Add(wordObject(t, line), "ledger")
			lists := map[string]int{"host": len(c.Hosts), "port": len(c.Ports), "service": len(c.Services), "pool": len(c.Pools), "record": len(c.Records), "namespace": len(c.Namespaces), "route": len(c.Routes), "node": len(c.NodeUses)}
			maps.DeleteFunc(lists, func(_ string, n int) bool { return n == 0 })
			fmt.Fprintf(&out, "%s  =>  %s", strings.TrimSpace(line), strings.TrimPrefix(fmt.Sprint(lists), "map"))
			for _, claim := range c.Claims {
				fmt.Fprintf(&out, " claim %s", statetest.Say(claim))
			}
			out.WriteString("\n")
		}
		return out.String()
	})
}

// How many addresses leases can get: a block is objects, and a line "ask MODE ..." for each configuration.
func TestAddresses(t *testing.T) {
	datadriven.RunTest(t, "testdata/addresses.txt", func(t *testing.T, d *datadriven.TestData) string {
		objects, asks, _ := strings.Cut(d.Input, "\nask ")
		in, _ := wordContents(t, objects, false)
		var out strings.Builder
		for ask := range strings.SplitSeq(asks, "\nask ") {
			fmt.Fprintf(&out, "%s: %s\n", ask, statetest.Say(Addresses(wordConfig(t, strings.Fields(ask)), in)))
		}
		return out.String()
	})
}

// ClaimedHosts yields hosts of claims that are kept whole and of those that are not.
func TestClaimedHosts(t *testing.T) {
	var c Contents
	c.AddClaim(claimtest.HostClaim("a.example.com", statetest.Shop, ""), true)
	c.AddClaim(claimtest.HostClaim("b.example.com", statetest.Shop, ""), false)
	c.AddClaim(claimtest.AddressClaim("203.0.113.7", "public", statetest.Shop), false)
	if got := slices.Collect(c.ClaimedHosts()); !slices.Equal(got, []string{"a.example.com", "b.example.com"}) || len(c.Claims) != 2 {
		t.Errorf("%d are kept whole, the hosts are %q", len(c.Claims), got)
	}
	for host := range c.ClaimedHosts() {
		if host != "a.example.com" {
			t.Errorf("it goes on to %s", host)
		}
		break
	}
	if c.DropClaims(); len(slices.Collect(c.ClaimedHosts())) > 0 {
		t.Error("claims that were dropped are there")
	}
}

// A claimed host has the right state even after many hosts without claims.
func TestClaimedHostsAmongUnclaimedOnes(t *testing.T) {
	text := "claim host m.example.com A: / A/1\nclaim host z.example.com A: / A/1\nIngress A/1 z.example.com\n"
	for n := range 20 {
		rows := wordBook(t, text, false, SubjectHosts).Hosts
		if last := rows[len(rows)-1]; len(rows) != n+2 || last.Host != "z.example.com" || last.State != StateActive {
			t.Errorf("behind %d hosts without a claim: %+v", n, last)
		}
		text += fmt.Sprintf("Ingress B/1 a%d.example.com\n", n)
	}
}

// The namespaces of which pods and events are read: those of leases that are not ready, and those without a pod.
func TestNamespacesToRead(t *testing.T) {
	in, _ := wordContents(t, `{apiVersion: v1, kind: Namespace, metadata: {name: NS(A/1), labels: {LABELS(A/1)}}}
		{apiVersion: v1, kind: Namespace, metadata: {name: NS(A/2), labels: {LABELS(A/2)}}}
		{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: NS(A/1), labels: {akash.network: "true", akash.network/manifest-service: web}}, spec: {replicas: 1}}
		{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: NS(A/1), labels: {akash.network: "true", akash.network/manifest-service: web}}}
		{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web, namespace: NS(A/2), labels: {akash.network: "true", akash.network/manifest-service: web}}, spec: {replicas: 1}}`, false)
	one, two := claimtest.WordLease(t, "A/1").Namespace(), claimtest.WordLease(t, "A/2").Namespace()
	if got := in.Workloads.Unsettled(); len(got) != 2 || !slices.Contains(got, one) || !slices.Contains(got, two) {
		t.Errorf("pods are read of %v", got)
	}
	if got := in.Workloads.LackPods(); len(got) != 1 || got[0] != two {
		t.Errorf("events are read of %v", got)
	}
}

// A shard is chosen among the routes.
func TestSelectShard(t *testing.T) {
	b := &Book{Routes: []RouteRow{{Name: "a", Shard: "red"}, {Name: "b", Shard: "blue"}, {Name: "c"}}}
	if b.SelectShard("blue"); len(b.Routes) != 1 || b.Routes[0].Name != "b" {
		t.Errorf("shard blue has %+v", b.Routes)
	}
}

// A tenant with only a known owner is selected by the owner alone.
func TestLabelsOfTenants(t *testing.T) {
	id := claimtest.WordLease(t, "A/2/1")
	whole := newTenant(id).complete()
	for key, want := range id.Labels() {
		if got := whole.Labels()[key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if got := whole.Labels()[lease.LabelNamespace]; got != id.Namespace() {
		t.Errorf("the namespace is %q", got)
	}
	some := (&Tenant{Owner: "akash1a", Namespace: "n"}).Labels()
	if len(some) != 2 || some[lease.LabelOwner] != "akash1a" || some[lease.LabelManaged] != "true" {
		t.Errorf("of an owner the labels are %v", some)
	}
	if none := (&Tenant{}).Labels(); len(none) != 1 {
		t.Errorf("of nobody the labels are %v", none)
	}
}
