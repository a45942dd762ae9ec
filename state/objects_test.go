package state_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	. "github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	. "github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
)

// What objects say: testdata/uses.txt, objects.txt and owned.txt. An object is written as YAML, as wordObject has it.
//
//	hosts      the hosts that an object uses, with path and backend
//	addresses  the addresses that a Service uses
//	squatters  the Services among the uses of an address that belong to none of its holders
//	uses-of    HOST of OWNER | the claims that there are | the uses of hosts, "HOST: use"
//	host       a ProviderHost or a route
//	port       a ProviderLeasedIP
//	backend    a route with one rule gets the backend web:80; one that does not look like ours is left as it is
//	lease      a problem names a lease, or only as much of it as a deployment group
//	declared   the backend that Akash's object declares is read from the field that its kind has for the port
//	service    a LoadBalancer Service
//	pool       an IPAddressPool
//	leads-to   PART | KIND SERVICE PORT
//	stands     KIND of LEASE PORT for ENDPOINT | the claim
//	namespace  whether this program has made a namespace
//	owned      whose an object is and who wrote it, as ownedInWords has it
func TestObjectTables(t *testing.T) {
	for _, file := range []string{"uses.txt", "objects.txt", "owned.txt"} {
		table(t, file, map[string]func(*testing.T, string) string{
			"hosts": func(t *testing.T, line string) string {
				return each(HostUses(known(wordObject(t, line))), func(u Use) string { return statetest.Say(u) })
			},
			"addresses": func(t *testing.T, line string) string {
				return each(ServiceUses(wordObject(t, line)), func(u Use) string { return u.Takes(u.Address.String()) + ": " + statetest.Say(u) })
			},
			"squatters": func(t *testing.T, line string) string {
				f := fields(line, 2)
				return each(WordClaim(t, f[0]).Squatters(wordUses(t, f[1])), func(u Use) string { return u.Takes("it") })
			},
			"uses-of": usesOfInWords,
			"host": func(t *testing.T, line string) string {
				return each(HostObjectsOf(known(wordObject(t, line))), func(h HostObject) string {
					h.Routing = nil
					return statetest.Say(h) + saysWhose(t, h.Labelled)
				})
			},
			"port": func(t *testing.T, line string) string {
				p := PortObjectOf(wordObject(t, line))
				return statetest.Say(p) + saysWhose(t, p.Labelled)
			},
			"backend": func(t *testing.T, line string) string {
				o := wordObject(t, line)
				if err := SetBackend(o, "web", 80); err != nil {
					return "! " + err.Error()
				}
				text, err := json.Marshal(o.Object)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			},
			"lease": func(_ *testing.T, line string) string {
				return Problem{Lease: strings.ReplaceAll(line, "AKASH", "akash1")}.ID().String()
			},
			"declared": func(t *testing.T, line string) string {
				service, port := DeclaredBackend(wordObject(t, line))
				return fmt.Sprintf("%s:%d", service, port)
			},
			"service": func(t *testing.T, line string) string { return statetest.Say(ServiceObjectOf(wordObject(t, line))) },
			"pool": func(t *testing.T, line string) string {
				p := PoolObjectOf(wordObject(t, line))
				return statetest.Say(p) + " uid=" + p.Ref.UID + " version=" + p.Ref.ResourceVersion
			},
			"leads-to": func(t *testing.T, line string) string {
				f := fields(line, 2)
				var kind, service string
				var port uint16
				if _, err := fmt.Sscan(f[1], &kind, &service, &port); err != nil {
					t.Fatal(err)
				}
				return fmt.Sprint(WordPart(t, f[0]).LeadsTo(kind, service, port))
			},
			"stands":    standsInWords,
			"namespace": func(t *testing.T, line string) string { return fmt.Sprint(MadeNamespace(wordObject(t, line))) },
			"owned":     ownedInWords,
		})
	}
}

func saysWhose(t *testing.T, l Labelled) string {
	if l.HasLease && (!l.Of(l.Lease.Group()) || l.Of(lease.Group{Owner: l.Lease.Owner}) || l.Owner != l.Lease.Owner) {
		t.Errorf("it is not of %s alone, or of owner %s", l.Lease, l.Owner)
	}
	return ""
}

func usesOfInWords(t *testing.T, line string) string {
	f := fields(line, 3)
	host, owner, _ := strings.Cut(f[0], " of ")
	uses := map[string][]Use{}
	for one := range strings.SplitSeq(f[2], ",") {
		if name, use, ok := strings.Cut(one, ": "); ok {
			name = strings.TrimSpace(name)
			uses[name] = append(uses[name], wordUse(t, use))
		}
	}
	before := len(uses[host])
	said := each(UsesOf(host, func(host string) []Use { return uses[host] }, WordLease(t, owner).Owner, func(name string) bool { return slices.Contains(strings.Fields(f[1]), name) }), func(u Use) string { return u.Name })
	if len(uses[host]) != before {
		t.Errorf("%s: the uses of %s have become %v", line, host, uses[host])
	}
	return said
}

// standsInWords: "KIND of LEASE PORT for ENDPOINT | CLAIM".
func standsInWords(t *testing.T, line string) string {
	f := fields(line, 2)
	words := strings.Fields(f[0])
	id := WordLease(t, words[2])
	protocol, port := (Part{Key: WordKey(words[3])}).ProtocolPort()
	_, key := endpointOf(t, words[5])
	o := &OwnObject{ObjectRef: ObjectRef{Kind: words[0]}, Ownership: Ownership{Lease: id, HasLease: true}, Port: PortWant{Protocol: protocol, ExternalPort: port}, SharingKey: key}
	return fmt.Sprintf("%t, declared as %s", o.StandsForPort(WordClaim(t, f[1])), o.DeclaredAs("shop.example.com").Name)
}

// managers are the managed fields of a real API server. provider-made is what Akash's provider owns of an object that it created,
// provider-wrote what it owns of an existing one: only what it changed. A manager of a lease has its word for a name.
var managers = map[string]string{
	"provider-made":   `{manager: provider-services, operation: Update, fieldsV1: {"f:metadata": {"f:labels": {".": {}, "f:akash.network": {}}}, "f:spec": {"f:rules": {}}}}`,
	"provider-wrote":  `{manager: provider-services, operation: Update, fieldsV1: {"f:metadata": {"f:annotations": {"f:nginx": {}}}}}`,
	"velero":          `{manager: velero-server, operation: Update, fieldsV1: {"f:metadata": {"f:annotations": {"f:net.akash.network/definition": {}}, "f:labels": {".": {}, "f:akash.network": {}}}, "f:spec": {"f:rules": {}}}}`,
	"other-made":      `{manager: my-provider, operation: Update, fieldsV1: {"f:metadata": {"f:labels": {".": {}, "f:akash.network": {}}}, "f:spec": {"f:rules": {}}}}`,
	"other-wrote":     `{manager: my-provider, operation: Update, fieldsV1: {"f:metadata": {"f:annotations": {"f:akash.network/lease.updated_at": {}}, "f:labels": {"f:akash.network/lease.id.dseq": {}}}, "f:spec": {"f:rules": {}}}}`,
	"edited":          `{manager: kubectl-edit, operation: Update, fieldsV1: {"f:metadata": {"f:annotations": {"f:akash.network/lease.updated_at": {}}, "f:labels": {"f:akash.network": {}}}, "f:spec": {"f:rules": {}}}}`,
	"status":          `{manager: akash-net, operation: Update, subresource: status, fieldsV1: {"f:status": {"f:loadBalancer": {}}}}`,
	"noted":           `{manager: akash-net, operation: Apply, fieldsV1: {"f:metadata": {"f:annotations": {"f:net.akash.network/dns-ttl": {}}}}}`,
	"labelled":        `{manager: akash-net, operation: Apply, fieldsV1: {"f:metadata": {"f:labels": {"f:akash.network/lease.id.owner": {}}}}}`,
	"updated":         `{manager: akash-net, operation: Update, fieldsV1: {"f:spec": {"f:rules": {}}}}`,
	"kubectl-applied": `{manager: kubectl, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:annotations": {"f:net.akash.network/definition": {}}}}}`,
	"kubectl-some":    `{manager: kubectl, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {}}}`,
}

// ownedInWords: "KIND [hash] [last-applied] [metallb] [unlabelled] [spec] [lease-id] [half-spec] [type=T] [at=NAMESPACE|LEASE]
// [tenant=LEASE] [by MANAGER...]". A manager is one of managers, "ours" of all leases, or a lease, "A/1+gseq" where it owns that number
// label, "A/1+" where it owns all.
func ownedInWords(t *testing.T, line string) string {
	id, tenant := WordLease(t, "A/1"), lease.ID{}
	said, by, _ := strings.Cut(line, " by ")
	words := strings.Fields(said)
	spec := fmt.Sprintf("owner: %s, dseq: 7, gseq: 1, oseq: 1, provider: %s", id.Owner, id.Provider)
	spec = strings.Replace(spec, "dseq: 7", "dseq: 1", 1)
	namespace, annotations, labels, specs := id.Namespace(), "", id.Labels(), "rules: [{host: shop.example.com}]"
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "hash":
			annotations += "net.akash.network/definition: h, "
		case "last-applied":
			annotations += `kubectl.kubernetes.io/last-applied-configuration: "{}"`
		case "metallb":
			labels = map[string]string{lease.LabelServiceTarget: lease.ServiceTargetMetalLB}
		case "unlabelled":
			labels = nil
		case "spec":
			specs = spec
		case "lease-id":
			specs = "lease_id: {" + strings.Replace(spec, "dseq: 1", `dseq: "1"`, 1) + "}"
		case "half-spec":
			specs = "owner: " + id.Owner
		case "type":
			specs = "type: " + value
		case "at":
			if namespace = value; strings.Contains(value, "/") {
				namespace = WordLease(t, value).Namespace()
			}
		case "tenant":
			tenant = WordLease(t, value)
		default:
			t.Fatalf("%q says %q of an object", line, word)
		}
	}
	var fields []string
	for word := range strings.FieldsSeq(by) {
		of, number, owns := strings.Cut(word, "+")
		if managers[word] != "" {
			fields = append(fields, managers[word])
			continue
		}
		manager, more := lease.FieldManager, ""
		if of != "ours" {
			manager = WordLease(t, of).Group().FieldManager()
		}
		for _, name := range []string{"dseq", "gseq"} {
			if owns && (number == "" || number == name) {
				more += fmt.Sprintf(`, "f:akash.network/lease.id.%s": {}`, name)
			}
		}
		fields = append(fields, fmt.Sprintf(`{manager: %q, operation: Apply, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:annotations": {"f:net.akash.network/definition": {}}, "f:labels": {"f:akash.network": {}%s}}, "f:spec": {"f:type": {}, "f:rules": {}}}}`, manager, more))
	}
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(fmt.Sprintf("{kind: %s, metadata: {name: shop.example.com, annotations: {%s}, managedFields: [%s]}, spec: {%s}}", words[0], annotations, strings.Join(fields, ", "), specs)), &o.Object); err != nil {
		t.Fatal(line, err)
	}
	o.SetLabels(labels)
	o.SetNamespace(namespace)
	w := OwnershipOf(o, tenant)
	text := statetest.Say(w)
	declares := strings.HasPrefix(words[0], "Provider")
	if w.Goes(declares, false) {
		text += ", goes"
	}
	if w.Goes(declares, true) {
		text += ", goes where Akash declares it"
	}
	for _, u := range HostUses(known(o)) {
		if l := LabelledOf(o.GetKind(), o); u.Labelled != w.Labelled || u.HasLease != u.Labelled || l.HasLease != u.HasLease || l.Lease != u.Lease {
			text += fmt.Sprintf(", used by %s, in the book of %s", u.Lease, l.Lease)
		}
	}
	return text
}

// known gives an object the group and the version of its kind.
func known(o *unstructured.Unstructured) *unstructured.Unstructured {
	o.SetGroupVersionKind(kinds.Of(o.GetKind()).GroupVersionKind)
	return o
}

// The addresses that a Service uses, however they are written: as MetalLB and Kubernetes read them. One of IPv4 that is written
// as one of IPv6 is the same address, and whoever asks for it so uses it.
func TestAddressesAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]string{
		"203.0.113.7":               "203.0.113.7",
		" 203.0.113.7 ":             "203.0.113.7",
		"::ffff:203.0.113.7":        "203.0.113.7",
		"::FFFF:cb00:7107":          "203.0.113.7",
		"2001:db8::7":               "2001:db8::7",
		"2001:0DB8:0:0::0:7":        "2001:db8::7",
		"203.0.113.7,2001:db8::7":   "203.0.113.7 2001:db8::7",
		"203.0.113.7, , 2001:db8::": "203.0.113.7 2001:db8::",
		"":                          "", "shop.example.com": "", "203.0.113.007": "", "203.0.113.0/24": "", "203.0.113": "", "0xcb007107": "",
	} {
		for where, o := range map[string]map[string]any{
			"asked by annotation":           {"metadata": map[string]any{"annotations": map[string]any{"metallb.io/loadBalancerIPs": text}}},
			"asked by the older annotation": {"metadata": map[string]any{"annotations": map[string]any{"metallb.universe.tf/loadBalancerIPs": text}}},
			"asked by the field":            {"spec": map[string]any{"loadBalancerIP": text}},
			"granted":                       {"status": map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": text}}}}},
			"external":                      {"spec": map[string]any{"externalIPs": []any{text}}},
		} {
			if strings.Contains(text, ",") && !strings.Contains(where, "annotation") {
				continue // one address
			}
			var got []string
			for _, u := range ServiceUses(&unstructured.Unstructured{Object: o}) {
				if got = append(got, u.Address.String()); u.Granted != (where == "granted") || u.External != (where == "external") {
					t.Errorf("%s: %+v", where, u)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s, %q: %v, want %s", where, text, got, want)
			}
		}
	}
}

// The addresses of a node are in use: no lease is given one.
func TestNodeUses(t *testing.T) {
	uses := NodeUses(wordObject(t, `{kind: Node, metadata: {name: g1}, status: {addresses: [{type: InternalIP, address: 203.0.113.0}, {type: Hostname, address: 203.0.113.2},
		{type: ExternalIP, address: "::ffff:203.0.113.1"}, {type: InternalIP, address: g1}, {type: InternalIP, address: "2001:db8::1"}, odd]}}`))
	if got := each(uses, func(u Use) string { return u.String() + " " + u.Address.String() }); got != "node g1 203.0.113.0; node g1 203.0.113.1; node g1 2001:db8::1" {
		t.Errorf("got %q", got)
	}
	known := NewAddresses(nil, uses)
	if a, ok := known.Next("akash1a", "key", config.IPv4, config.Ranges{Include: wordRanges(t, "203.0.113.0/30")}, nil); !ok || a != netip.MustParseAddr("203.0.113.2") {
		t.Errorf("the lease gets %s, %t", a, ok)
	}
	if f := (Judge{Adopt: true, Group: lease.Group{Owner: "akash1a"}}).Decide(Hold{Kind: Address, Thing: "203.0.113.0"}, "k", nil, known.Foreign(uses[0].Address, "key")); f.Verdict != Held || f.By.Object != "node g1" {
		t.Errorf("by name it is %+v", f)
	}
	if len(known.InUse()) > 0 {
		t.Errorf("pools keep %s", known.InUse())
	}
}

// A problem keeps its name when it is found again.
func TestNamesOfProblems(t *testing.T) {
	a := Problem{Problem: BlockedHost, Thing: "a.example.com", Namespace: "ns", Lease: "l", Message: "m"}
	for i, change := range []func(*Problem){
		func(p *Problem) { p.Message, p.Plan, p.Manual = "other", "p", true },
		func(p *Problem) { p.Problem = NotServed },
		func(p *Problem) { p.Thing = "b.example.com" },
		func(p *Problem) { p.Namespace = "other" },
		func(p *Problem) { p.Lease = "other" },
	} {
		b := a
		if change(&b); a.Same(b) != (i == 0) || b.Same(a) != (i == 0) {
			t.Errorf("%+v and %+v are the same: %t", a, b, a.Same(b))
		}
	}
	for thing, command := range map[string]string{
		"a.example.com": "repair BlockedHost/a.example.com", "*.example.com": "repair 'BlockedHost/*.example.com'", "service ns/web": "repair 'BlockedHost/service ns/web'",
		"ipaddresspool/metallb-system": "repair BlockedHost/ipaddresspool/metallb-system",
	} {
		p := Problem{Problem: BlockedHost, Thing: thing}.ByName()
		if p.Command != "kubectl akash-net "+command || !p.Manual || !p.Named {
			t.Errorf("%s is mended by %q, %+v", thing, p.Command, p)
		}
	}
	group := WordLease(t, "A/1").Group()
	p := Problem{Problem: NothingLeft, Thing: "x", Plan: "before"}.ByDefinition(group)
	if !p.Fix.Is(Heal) || p.Fix.Group != group || p.Fix.Kept || p.Plan != "apply its definition again" || !p.Manual || p.Named || p.Command != "kubectl akash-net repair -f FILE" {
		t.Errorf("by its definition it is mended so: %+v", p)
	}
	if sorted := slices.Sorted(slices.Values(ProblemKinds)); len(slices.Compact(sorted)) != len(ProblemKinds) || sorted[0] == "" {
		t.Errorf("a kind is listed twice: %q", ProblemKinds)
	}
}

// The namespace of a lease has the labels that Akash's provider sets.
func TestLabelsOfANamespace(t *testing.T) {
	id := WordLease(t, "A/1")
	labels := LeaseNamespaceLabels(id)
	if labels[lease.LabelNamespace] != id.Namespace() || labels[lease.LabelOwner] != id.Owner || len(labels) != len(id.Labels())+1 {
		t.Errorf("the labels are %v", labels)
	}
}

// A repair is announced for each deployment group that it names: of a claim that is written as a whole, for all that wait for it too.
func TestFixGroups(t *testing.T) {
	a, b := WordLease(t, "A/1").Group(), WordLease(t, "B/2").Group()
	claim := &Claim{Parts: []Part{{Key: "x", Lease: WordLease(t, "A/1")}}, Waits: []Part{{Key: "y", Lease: WordLease(t, "B/2")}}}
	parts := ClaimParts{Claim: claim, Group: b, Keys: []string{"y"}}
	for _, x := range []struct {
		fix    Fix
		groups []lease.Group
	}{
		{Fix{Do: Heal, Group: a}, []lease.Group{a}}, {Fix{Do: EndRun, Parts: parts}, []lease.Group{b}}, {Fix{Do: Release, Parts: ClaimParts{Claim: claim}}, []lease.Group{a, b}},
		{Fix{Do: OwnParts, Parts: ClaimParts{Claim: claim}}, []lease.Group{a, b}}, {Fix{Do: Follow, Parts: parts}, []lease.Group{b, a, b}},
		{Fix{Do: EndAnnouncement, Of: claim.Writers()}, []lease.Group{a, b}}, {Fix{Do: MakePool}, nil},
		{Fix{Do: GiveUp, Each: []*Fix{{Do: GiveUp, Parts: ClaimParts{Group: a}}, {Do: GiveUp, Parts: parts}}}, []lease.Group{a, b}},
	} {
		none := func(g lease.Group) bool { return g == lease.Group{} }
		if groups := slices.DeleteFunc(x.fix.Groups(), none); !slices.Equal(groups, x.groups) {
			t.Errorf("%s writes for %v; want %v", x.fix.Do, groups, x.groups)
		}
	}
}

// What routers say of a route: testdata/reports.txt. A route is written shortly, and stands in namespace "own", generation 3:
//
//	reports    KIND [of PARENT,...] | what is said of it: "BY: CONDITION=STATUS[@GENERATION] ...; ..." | the Gateways or routers
//	           that are there, "any" where nobody knows
//	serving    KIND [of PARENT,...] | what is said | the Gateway's conditions, "none" where there is none | the Gateway's name
//
// A Gateway is NAMESPACE/NAME or NAMESPACE/NAME/LISTENER, or NAME in the route's namespace; KIND=… is another parent. A Route of OpenShift is "Route HOST",
// and its routers say "ROUTER HOST: ...".
func TestReportTable(t *testing.T) {
	table(t, "reports.txt", map[string]func(*testing.T, string) string{"reports": reportsInWords, "serving": servingInWords})
}

func wordRoute(t *testing.T, head, said string) *unstructured.Unstructured {
	words := strings.Fields(head)
	o := map[string]any{"kind": words[0], "metadata": map[string]any{"namespace": "own", "name": "r", "generation": int64(3)}}
	isRoute, field := words[0] == "Route", "parents"
	if isRoute {
		o["spec"], field = map[string]any{"host": words[1]}, "ingress"
	} else if len(words) > 2 {
		var parents []any
		for parent := range strings.SplitSeq(words[2], ",") {
			parents = append(parents, wordParent(parent))
		}
		o["spec"] = map[string]any{"parentRefs": parents}
	}
	var entries []any
	for one := range strings.SplitSeq(said, ";") {
		by, conditions, ok := strings.Cut(one, ": ")
		if !ok {
			continue
		}
		entry := map[string]any{"conditions": wordConditions(t, conditions)}
		if by = strings.TrimSpace(by); isRoute {
			entry["routerName"], entry["host"], _ = strings.Cut(by, " ")
		} else {
			entry["parentRef"], entry["controllerName"] = wordParent(by), "example.com/c"
		}
		entries = append(entries, entry)
	}
	o["status"] = map[string]any{field: entries}
	if words[0] == "Ingress" {
		o["status"] = map[string]any{"loadBalancer": map[string]any{"ingress": entries}}
	}
	return &unstructured.Unstructured{Object: o}
}

func wordParent(text string) map[string]any {
	words := strings.Split(text, "/")
	p := map[string]any{"name": words[0], "kind": "Gateway", "group": "gateway.networking.k8s.io"}
	if kind, name, other := strings.Cut(words[0], "="); other {
		p["kind"], words[0] = kind, name
	}
	if len(words) > 1 {
		p["namespace"], p["name"] = words[0], words[1]
	}
	if len(words) > 2 {
		p["sectionName"] = words[2]
	}
	return p
}

func wordConditions(t *testing.T, text string) (conditions []any) {
	for word := range strings.FieldsSeq(text) {
		if word == "-" {
			continue
		}
		kind, status, ok := strings.Cut(word, "=")
		if !ok {
			t.Fatalf("%q is no condition", word)
		}
		c := map[string]any{"type": kind, "reason": kind + "Reason", "message": "because", "lastTransitionTime": "2026-11-18T09:00:00Z"}
		if s, generation, said := strings.Cut(status, "@"); said {
			status, c["observedGeneration"] = s, int64(generation[0]-'0')
		}
		c["status"] = status
		conditions = append(conditions, c)
	}
	return conditions
}

func reportsInWords(t *testing.T, line string) string {
	f := fields(line, 3)
	o := wordRoute(t, f[0], f[1])
	there := Routers{}
	if f[2] != "any" && f[2] != "" {
		there.Gateways, there.Routers = map[string]bool{}, map[string]bool{}
		for word := range strings.FieldsSeq(f[2]) {
			there.Gateways[word], there.Routers[word] = true, true
		}
	}
	reports := Reports(o, there)
	text := each(reports, Report.String)
	if Accepted(reports) {
		text += " => accepted"
	}
	if Serves(reports) {
		text += ", serves"
	}
	field, kept := WithoutStale(o, there)
	if stale := slices.ContainsFunc(reports, func(r Report) bool { return r.Stale != "" }); stale {
		text += fmt.Sprintf(" => %d of %d %s stay", len(kept), len(reports), field)
	} else if kept == nil || len(kept) != len(reports) {
		t.Errorf("%s: of reports none of which is stale %v stay", line, kept)
	}
	return text
}

func servingInWords(t *testing.T, line string) string {
	f := fields(line, 4)
	var gateway *unstructured.Unstructured
	if f[2] != "none" {
		gateway = &unstructured.Unstructured{Object: map[string]any{
			"kind": "Gateway", "metadata": map[string]any{"name": "g", "generation": int64(3)}, "status": map[string]any{"conditions": wordConditions(t, f[2])},
		}}
	}
	if why := NotServing(wordRoute(t, f[0], f[1]), gateway, f[3]); why != "" {
		return why
	}
	return "serves"
}

// A route that was not accepted in time is told with what its router says, or with where to look.
func TestToBeAccepted(t *testing.T) {
	says := func(accepted, resolved, reason string) *unstructured.Unstructured {
		ref := map[string]any{"name": "gw", "namespace": "gw"}
		return &unstructured.Unstructured{Object: map[string]any{
			"kind": "HTTPRoute", "metadata": map[string]any{"namespace": "ns", "name": "shop"}, "spec": map[string]any{"parentRefs": []any{ref}},
			"status": map[string]any{"parents": []any{map[string]any{"parentRef": ref, "conditions": []any{
				map[string]any{"type": "Accepted", "status": accepted, "reason": reason}, map[string]any{"type": "ResolvedRefs", "status": resolved, "reason": reason},
			}}}},
		}}
	}
	stale := says("True", "True", "")
	unstructured.RemoveNestedField(stale.Object, "spec")
	const look = "to be accepted by a router (see: kubectl -n ns get httproute shop -o yaml)"
	for name, x := range map[string]struct {
		live             *unstructured.Unstructured
		accepted, serves string // what it lacks to be accepted, and to serve
	}{
		"it is not there":     {nil, look, look},
		"it is accepted":      {says("True", "True", ""), "", ""},
		"its backend is gone": {says("True", "False", "BackendNotFound"), "", "BackendNotFound"},
		"it is refused":       {says("False", "True", "NotAllowedByListeners"), "NotAllowedByListeners", "NotAllowedByListeners"},
		"nobody has judged":   {says("Unknown", "Unknown", ""), look, look},
		"it is stale":         {stale, look, look},
	} {
		for want, needs := range map[*string]func([]Report) bool{&x.accepted: Accepted, &x.serves: Serves} {
			got := ToBeAccepted(kinds.HTTPRoute, "ns", "shop", x.live, needs)
			if (got == "") != (*want == "") || !strings.Contains(got, *want) || got != "" && !strings.HasPrefix(got, "httproute ns/shop to be accepted") {
				t.Errorf("%s: %q, want %q", name, got, *want)
			}
		}
	}
}
