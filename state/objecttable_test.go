package state

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// What objects say of hosts and addresses: testdata/uses.txt and testdata/objects.txt. An object is written as YAML; LEASE in
// its labels are the labels of A/1, OWN is the namespace of A/1.
//
//	hosts      the hosts that an object uses, with path and backend
//	addresses  the addresses that a Service uses
//	backends   the Services to which a route leads
//	squatters  the Services among the uses of an address that belong to none of its holders
//	uses-of    HOST of OWNER | the claims that there are | the uses of hosts, "HOST: use"
func TestUseTable(t *testing.T) {
	table(t, "uses.txt", map[string]func(*testing.T, string) string{
		"hosts":     hostUsesInWords,
		"addresses": addressUsesInWords,
		"backends":  func(t *testing.T, line string) string { return strings.Join(Backends(wordObject(t, line)), " ") },
		"squatters": squattersInWords,
		"uses-of":   usesOfInWords,
	})
}

// wordObject parses an object of the tables.
func wordObject(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	id := wordLease(t, "A/1")
	var labels []string
	for key, value := range id.Labels() {
		labels = append(labels, fmt.Sprintf("%s: %q", key, value))
	}
	slices.Sort(labels)
	return object(t, strings.NewReplacer("LEASE", strings.Join(labels, ", "), "OWN", id.Namespace(), "KEY", lease.SharingKey(id.Owner, "public")).Replace(text))
}

func hostUsesInWords(t *testing.T, line string) string {
	var said []string
	for _, u := range HostUses(wordObject(t, line)) {
		text := u.Host + u.Path
		if u.Service != "" || u.Port != 0 {
			text += fmt.Sprintf(" to %s:%d", u.Service, u.Port)
		}
		if u.Redirect {
			text += " redirect"
		}
		if u.HasLease {
			text += " of " + u.Lease.String()
		}
		said = append(said, text)
	}
	return strings.Join(said, ", ")
}

func addressUsesInWords(t *testing.T, line string) string {
	var said []string
	for _, u := range ServiceUses(wordObject(t, line)) {
		text := u.Takes(u.Address.String())
		if u.SharingKey != "" {
			text += " for " + u.SharingKey
		}
		if u.HasLease {
			text += " of " + u.Lease.String()
		}
		said = append(said, text)
	}
	return strings.Join(said, ", ")
}

func squattersInWords(t *testing.T, line string) string {
	f := fields(line, 2)
	var said []string
	for _, u := range wordClaim(t, f[0]).Squatters(wordUses(t, f[1])) {
		said = append(said, u.Takes("it"))
	}
	return strings.Join(said, ", ")
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
	var said []string
	for _, u := range UsesOf(host, uses, wordLease(t, owner).Owner, func(name string) bool { return slices.Contains(strings.Fields(f[1]), name) }) {
		said = append(said, u.Name)
	}
	if len(uses[host]) != before {
		t.Errorf("%s: the uses of %s have become %v", line, host, uses[host])
	}
	return strings.Join(said, " ")
}

// What the objects of a lease say.
//
//	host       a ProviderHost or a route
//	port       a ProviderLeasedIP
//	service    a LoadBalancer Service
//	pool       an IPAddressPool
//	leads-to   PART | KIND SERVICE PORT
//	stands     KIND of LEASE PORT for ENDPOINT | the claim
//	namespace  whether this program has made a namespace
func TestObjectTable(t *testing.T) {
	table(t, "objects.txt", map[string]func(*testing.T, string) string{
		"host":      hostObjectInWords,
		"port":      portObjectInWords,
		"service":   serviceObjectInWords,
		"pool":      poolObjectInWords,
		"leads-to":  leadsToInWords,
		"stands":    standsInWords,
		"namespace": func(t *testing.T, line string) string { return fmt.Sprint(MadeNamespace(wordObject(t, line))) },
	})
}

func hostObjectInWords(t *testing.T, line string) string {
	list := HostObjectsOf(wordObject(t, line))
	if len(list) == 0 {
		return "nothing of a lease"
	}
	h := list[0]
	text := h.Kind + " " + h.Namespace + "/" + h.Name + " for " + h.Host
	if h.PathHash != "" {
		text += " below " + h.PathHash
	}
	if h.Service != "" || h.Port != 0 {
		text += fmt.Sprintf(" to %s:%d", h.Service, h.Port)
	}
	if h.Redirect {
		text += " redirect"
	}
	text += " of " + ownerWords(h.Labelled)
	if h.Unaccepted != "" {
		text += " (" + h.Unaccepted + ")"
	}
	return text
}

func ownerWords(l Labelled) string {
	if l.HasLease {
		text := l.Lease.String()
		if !l.Of(l.Lease.Group()) || l.Of(lease.Group{Owner: l.Lease.Owner}) || l.Owner != l.Lease.Owner {
			text += " and others"
		}
		return text
	}
	return "no lease, owner " + cmp.Or(l.Owner, "-")
}

func portObjectInWords(t *testing.T, line string) string {
	p := PortObjectOf(wordObject(t, line))
	return fmt.Sprintf("%d/%s of %q to %q, %s", p.Port, p.Protocol, p.SharingKey, p.Service, ownerWords(p.Labelled))
}

func serviceObjectInWords(t *testing.T, line string) string {
	s := ServiceObjectOf(wordObject(t, line))
	text := fmt.Sprintf("%d/%s to %s:%d", s.Port, s.Protocol, cmp.Or(s.Service, "-"), s.ContainerPort)
	for _, x := range []struct{ what, is string }{
		{"key", s.SharingKey}, {"pool", s.Pool}, {"asks", strings.Trim(fmt.Sprint(s.Asked), "[]")}, {"has", strings.Trim(fmt.Sprint(s.Granted), "[]")},
	} {
		if x.is != "" {
			text += " " + x.what + " " + x.is
		}
	}
	return text
}

func poolObjectInWords(t *testing.T, line string) string {
	p := PoolObjectOf(wordObject(t, line))
	text := fmt.Sprintf("%s: %s", p.Ref, strings.Join(p.Texts, " "))
	if got := sayRanges(p.Ranges); got != strings.Join(p.Texts, " ") {
		text += ", read as " + got
	}
	if p.Ours {
		text += ", ours"
	}
	if p.Counted {
		text += fmt.Sprintf(", %d assigned, %d available", p.Assigned, p.Available)
	}
	return text + " uid=" + p.Ref.UID + " version=" + p.Ref.ResourceVersion
}

func leadsToInWords(t *testing.T, line string) string {
	f := fields(line, 2)
	var kind, service string
	var port uint16
	if _, err := fmt.Sscan(f[1], &kind, &service, &port); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(wordPart(t, f[0]).LeadsTo(kind, service, port))
}

// standsInWords: "KIND of LEASE PORT for ENDPOINT | CLAIM".
func standsInWords(t *testing.T, line string) string {
	f := fields(line, 2)
	words := strings.Fields(f[0])
	id := wordLease(t, words[2])
	protocol, port := (Part{Key: wordKey(words[3])}).ProtocolPort()
	_, key := endpointOf(t, words[5])
	o := &OwnObject{ObjectRef: ObjectRef{Kind: words[0]}, Ownership: Ownership{Lease: id, HasLease: true}, Port: PortWant{Protocol: protocol, ExternalPort: port}, SharingKey: key}
	return fmt.Sprintf("%t, declared as %s", o.StandsForPort(wordClaim(t, f[1])), o.DeclaredAs("shop.example.com"))
}

// A problem keeps its name when it is found again.
func TestNamesOfProblems(t *testing.T) {
	a := Problem{Problem: BlockedHost, Thing: "a.example.com", Namespace: "ns", Lease: "l", Message: "m"}
	for _, x := range []struct {
		change func(*Problem)
		same   bool
	}{
		{func(*Problem) {}, true},
		{func(p *Problem) { p.Message, p.Plan, p.Manual = "other", "p", true }, true},
		{func(p *Problem) { p.Problem = NotServed }, false},
		{func(p *Problem) { p.Thing = "b.example.com" }, false},
		{func(p *Problem) { p.Namespace = "other" }, false},
		{func(p *Problem) { p.Lease = "other" }, false},
	} {
		b := a
		if x.change(&b); a.Same(b) != x.same || b.Same(a) != x.same {
			t.Errorf("%+v and %+v are the same: %t", a, b, a.Same(b))
		}
	}
	for thing, command := range map[string]string{
		"a.example.com":                "kubectl akash-net repair BlockedHost/a.example.com",
		"*.example.com":                "kubectl akash-net repair 'BlockedHost/*.example.com'",
		"service ns/web":               "kubectl akash-net repair 'BlockedHost/service ns/web'",
		"203.0.113.7":                  "kubectl akash-net repair BlockedHost/203.0.113.7",
		"ipaddresspool/metallb-system": "kubectl akash-net repair BlockedHost/ipaddresspool/metallb-system",
	} {
		p := Problem{Problem: BlockedHost, Thing: thing}.ByName()
		if p.Command != command || !p.Manual || !p.Named {
			t.Errorf("%s is mended by %q, %+v", thing, p.Command, p)
		}
	}
	group := wordLease(t, "A/1").Group()
	p := Problem{Problem: NothingLeft, Thing: "x", Plan: "before"}.ByDefinition(group)
	if p.Mend != (ApplyDefinition{Group: group}) || p.Plan != "apply its definition again" || !p.Manual || p.Named || p.Command != "kubectl akash-net repair -f FILE" {
		t.Errorf("by its definition it is mended so: %+v", p)
	}
}

// ProblemKinds lists every kind once.
func TestProblemKindsAreListed(t *testing.T) {
	seen := map[string]bool{}
	for _, kind := range ProblemKinds {
		if kind == "" || seen[kind] {
			t.Errorf("%q is listed twice", kind)
		}
		seen[kind] = true
	}
	if len(seen) != 38 {
		t.Errorf("%d kinds are listed", len(seen))
	}
}

// Counts of addresses do not overflow: a /64 has more addresses than an int64 can count.
func TestSaturated(t *testing.T) {
	const most = 1<<63 - 1
	for _, x := range [][3]int64{{0, 0, 0}, {1, 2, 3}, {most, 0, most}, {0, most, most}, {most - 1, 1, most}, {most, 1, most}, {most, most, most}, {1, most, most}, {most - 5, 3, most - 2}} {
		if got := Saturated(x[0], x[1]); got != x[2] {
			t.Errorf("%d and %d are %d", x[0], x[1], got)
		}
	}
}

// The namespace of a lease has the labels that Akash's provider sets.
func TestLabelsOfANamespace(t *testing.T) {
	id := wordLease(t, "A/1")
	labels := LeaseNamespaceLabels(id)
	if labels[lease.LabelNamespace] != id.Namespace() || labels[lease.LabelOwner] != id.Owner || len(labels) != len(id.Labels())+1 {
		t.Errorf("the labels are %v", labels)
	}
}
