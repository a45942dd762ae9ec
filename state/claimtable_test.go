package state

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/hosttemplate"
)

// What a claim is, and what its parts say: testdata/claims.txt.
//
//	name, key    the name of the claim on a thing, the key of a part; and what they are read as
//	is           what an object of a name, a label and an endpoint is a claim on
//	value        what the value of a part's annotation says, on the host a.example.com of owner A
//	write        what a group applies to hold its parts of a claim, or to have none
//	ask          what there is to know of a claim
//	refused      whether the provider lets the holders of a claim have it
func TestClaimTable(t *testing.T) {
	table(t, "claims.txt", map[string]func(*testing.T, string) string{
		"name":    nameInWords,
		"address": addressNameInWords,
		"key":     keyInWords,
		"is":      isInWords,
		"value":   valueInWords,
		"write":   writeInWords,
		"ask":     askInWords,
		"wait":    waitInWords,
		"refused": refusedInWords,
	})
}

// nameInWords prints the name of the claim on a thing, and what a claim of that name is read as.
func nameInWords(t *testing.T, line string) string {
	c := wordClaim(t, line+" A:")
	meta := &metav1.ObjectMeta{Name: c.Name(), Labels: map[string]string{LabelOwner: c.Owner}, Annotations: map[string]string{AnnotationLedger: LedgerVersion, AnnotationSharingKey: c.SharingKey}}
	read, ok := ReadClaim(meta)
	if !ok || read.Kind != c.Kind || read.Thing != c.Thing || read.Unreadable != "" || read.Addr() != c.Addr() {
		return fmt.Sprintf("%s, which is read as %s", c.Name(), sayClaim(&read))
	}
	text := c.Name()
	if over := WildcardOver(c.Thing); over != "" && !c.Kind.HasPorts() {
		text += " below " + over
	}
	return text
}

func addressNameInWords(_ *testing.T, line string) string {
	if a, ok := parseAddressName(line); ok {
		return a.String()
	}
	return "none"
}

// keyInWords prints the key of a part, and what it is read as.
func keyInWords(_ *testing.T, line string) string {
	key := wordKey(line)
	p := Part{Key: key}
	protocol, port := p.ProtocolPort()
	text := strings.NewReplacer("net.akash.network", "NET").Replace(key)
	if protocol != "" {
		text += fmt.Sprintf(" is %s %d, shown as %s", protocol, port, p.PortText())
	} else if key == WholeAddress {
		text = "any, shown as " + p.PortText()
	}
	if other := OtherProtocol(key); other != "" {
		text += ", beside " + strings.TrimPrefix(other, PortPrefix)
	}
	return text
}

// isInWords: NAME LABEL ENDPOINT VERSION, with "-" for a missing one.
func isInWords(_ *testing.T, line string) string {
	words := strings.Fields(line)
	meta := &metav1.ObjectMeta{Name: words[0], Labels: map[string]string{LabelOwner: "akash1a"}, Annotations: map[string]string{}}
	for i, set := range []func(string){
		func(w string) { meta.Labels[LabelKind] = w },
		func(w string) { meta.Annotations[AnnotationSharingKey] = w },
		func(w string) { meta.Annotations[AnnotationLedger] = w },
	} {
		if word := words[i+1]; word != "-" {
			set(word)
		}
	}
	c, ok := ReadClaim(meta)
	if !ok {
		return "no claim"
	}
	text := sayClaim(&c)
	if c.Name() != words[0] {
		text += ", and calls itself " + c.Name()
	}
	return text
}

// valueInWords reads "KEY VALUE"; LEASE is replaced by a lease of the owner.
func valueInWords(t *testing.T, line string) string {
	word, value, _ := strings.Cut(line, " ")
	value = strings.NewReplacer("LEASE2", wordLease(t, "A/2").String(), "LEASE", wordLease(t, "A/1").String(), "OTHER", wordLease(t, "B/1").String()).Replace(value)
	key := wordKey(word)
	if wait, isWait := strings.CutPrefix(word, "wait:"); isWait {
		key = waitPrefix + wait
	}
	name, kind, start := "a.example.com", Host, "host a.example.com of akash1a"
	if strings.HasPrefix(key, PortPrefix) {
		name, kind, start = "ip--203-0-113-7", Address, "address 203.0.113.7 of akash1a"
	}
	c, _ := ReadClaim(&metav1.ObjectMeta{Name: name, Labels: map[string]string{LabelKind: string(kind), LabelOwner: "akash1a"}, Annotations: map[string]string{AnnotationLedger: "v1", key: value}})
	return strings.TrimPrefix(strings.TrimPrefix(sayClaim(&c), start), ": ")
}

// writeInWords: "LEASE KEY... of CLAIM".
func writeInWords(t *testing.T, line string) string {
	head, text, _ := strings.Cut(line, " of ")
	words := strings.Fields(head)
	c := wordClaim(t, text)
	group := wordLease(t, words[0]).Group()
	ac := c.Configuration("ledger", c.Entries(group))
	if len(words) > 1 && words[1] == "withdraws" {
		ac = c.Withdrawal("ledger")
	}
	body, err := json.Marshal(ac)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(`"apiVersion":"coordination.k8s.io/v1","kind":"Lease",`, "", "net.akash.network", "NET", `\"`, `'`).Replace(short(string(body)))
}

// askInWords prints what the methods of a claim return.
func askInWords(t *testing.T, line string) string {
	c := wordClaim(t, line)
	var said []string
	groups := func(what string, of []lease.Group) {
		texts := make([]string, len(of))
		for i, g := range of {
			texts[i] = g.String()
		}
		if len(texts) > 0 {
			said = append(said, what+" "+strings.Join(texts, " and "))
		}
	}
	groups("held by", c.Groups())
	if writers := c.Writers(); len(writers) > len(c.Groups()) {
		groups("written by", writers)
	}
	groups("served for another by", c.Formers())
	for word, is := range map[string]bool{"marked": c.Marked(), "ended": c.Ended(wordsNow), "bound": c.Bound(), "really held": c.Held(), "one expired": slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Ended(wordsNow) })} {
		if is {
			said = append(said, word)
		}
	}
	slices.Sort(said)
	if holders := Holders(c); holders != c.Owner {
		said = append(said, "in words: "+holders)
	}
	return strings.Join(said, "; ")
}

// waitInWords prints what Withholder returns for each wait.
func waitInWords(t *testing.T, line string) string {
	c := wordClaim(t, line)
	var said []string
	for _, w := range c.Waits {
		said = append(said, sayPart(Part{Key: w.For, Path: w.Path, Lease: w.Lease, Run: w.Run, Expires: w.Expires, From: w.From, Bound: w.Bound, Applied: w.Applied})+" "+c.Withholder(w))
	}
	return strings.Join(said, "; ")
}

// refusedInWords: CLAIM | a word for each of the provider's rules.
func refusedInWords(t *testing.T, line string) string {
	f := fields(line, 2)
	cfg := config.Default()
	for word := range strings.FieldsSeq(f[1]) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "blocked":
			cfg.Hosts.Blocked = append(cfg.Hosts.Blocked, value)
		case "denied":
			cfg.Hosts.DeniedDomains = append(cfg.Hosts.DeniedDomains, value)
		case "allowed":
			cfg.Hosts.AllowedDomains = append(cfg.Hosts.AllowedDomains, value)
		case "static":
			cfg.Ingress.StaticHosts, cfg.Ingress.Domain = true, value
		case "generated":
			cfg.Hosts.Generated = value
		}
	}
	text := strings.NewReplacer("STATIC", wordLease(t, "A/1").StaticHost("web", "p.example"), "GENERATED", hosttemplate.Host(wordLease(t, "A/1"), cmp.Or(cfg.Hosts.Generated, "x.example"), "web", 443)).Replace(f[0])
	return cmp.Or(wordClaim(t, text).Refused(cfg), "-")
}

// ReadClaim sorts parts by key, in whatever order they were written.
func TestPartsAreSorted(t *testing.T) {
	c := wordClaim(t, "address 203.0.113.7@public A: 80/tcp A/1, 443/tcp A/2, 9/udp A/1, any A/3, 53/udp A/2")
	read, _ := ReadClaim(stored(c, c.Writers()...))
	keys := make([]string, len(read.Parts))
	for i, p := range read.Parts {
		keys[i] = p.Key
	}
	if !slices.IsSorted(keys) || len(keys) != 5 {
		t.Errorf("the parts are %q", keys)
	}
	for _, key := range keys {
		if p := read.Part(key); p == nil || p.Key != key {
			t.Errorf("the part %s is %+v", key, p)
		}
	}
	if p := (*Claim)(nil).Part(keys[0]); p != nil {
		t.Errorf("no claim has the part %+v", p)
	}
}

// Unmanaged leaves out groups whose field managers own parts of the claim.
func TestUnmanagedGroups(t *testing.T) {
	c := wordClaim(t, "host a.example.com A: / A/1, /v1 A/2, /v2 A/2, /v3 A/3")
	meta := stored(c, c.Writers()...)
	one, two := wordLease(t, "A/1").Group(), wordLease(t, "A/2").Group()
	meta.ManagedFields = slices.DeleteFunc(meta.ManagedFields, func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == one.FieldManager() || m.Manager == two.FieldManager()
	})
	read, _ := ReadClaim(meta)
	if slices.SortFunc(read.Unmanaged, lease.Group.Compare); !slices.Equal(read.Unmanaged, []lease.Group{one, two}) {
		t.Errorf("without the managers of two groups these are unmanaged: %v", read.Unmanaged)
	}
	if read, _ := ReadClaim(stored(c, c.Writers()...)); len(read.Unmanaged) > 0 {
		t.Errorf("of what was applied these are unmanaged: %v", read.Unmanaged)
	}
}

// A claim that is being deleted has its finalizers; its last write is the latest of its managers'.
func TestMomentsOfAClaim(t *testing.T) {
	c := wordClaim(t, "host a.example.com A: / A/1")
	meta := stored(c, c.Writers()...)
	at := func(minutes int) *metav1.Time {
		return &metav1.Time{Time: c.Created.Add(time.Duration(minutes) * time.Minute)}
	}
	meta.ManagedFields[0].Time = at(3)
	meta.ManagedFields = append(meta.ManagedFields, metav1.ManagedFieldsEntry{Manager: "other", Time: at(7)}, metav1.ManagedFieldsEntry{Manager: "third", Time: at(5)})
	read, _ := ReadClaim(meta)
	if read.Deleting || read.Kept() != "its finalizers " || read.Updated != at(7).Time || read.Created != c.Created {
		t.Errorf("it is read as %+v", read)
	}
	meta.DeletionTimestamp, meta.Finalizers, meta.ManagedFields = at(9), []string{"a/b", "c"}, nil
	read, _ = ReadClaim(meta)
	if !read.Deleting || read.Kept() != "its finalizers a/b, c" || read.Updated != c.Created {
		t.Errorf("it is being deleted, and read as %+v", read)
	}
	meta.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "clock", Time: at(-5)}}
	if read, _ = ReadClaim(meta); read.Updated != c.Created {
		t.Errorf("it was written at %s, before it was made", read.Updated)
	}
}

// Every run takes its claims in this order: addresses, endpoints, hosts, wildcards, each by name.
func TestOrderOfHolds(t *testing.T) {
	want := []string{
		"address 10.0.0.1@x", "address 10.0.0.10@a", "address 10.0.0.2@x", "address 2001:db8::1@x", "endpoint a@a", "host a.example.com", "host b.example.com", "wildcard *.a.com", "wildcard *.b.com",
	}
	var holds []Hold
	for _, text := range want {
		c := wordClaim(t, text+" A:")
		holds = append(holds, Hold{Kind: c.Kind, Thing: c.Thing, SharingKey: c.SharingKey})
	}
	for shift := range holds {
		mixed := slices.Concat(holds[shift:], holds[:shift])
		slices.SortFunc(mixed, Hold.Compare)
		for i := range mixed {
			if mixed[i].Name() != holds[i].Name() {
				t.Fatalf("%s comes in place of %s", mixed[i].Name(), holds[i].Name())
			}
		}
	}
}

// Names that look alike are different claims.
func TestNamesOfAddressesAreUnique(t *testing.T) {
	names := map[string]netip.Addr{}
	for _, first := range []string{"0.0.0.0", "203.0.113.250", "::", "2001:db8::ff00", "::ffff:ffff:fff0", "1::", "1:0:0:1::"} {
		for a, n := netip.MustParseAddr(first), 0; n < 300; a, n = a.Next(), n+1 {
			name := AddressName(a)
			if other, taken := names[name]; taken && other != a {
				t.Fatalf("%s and %s are both named %s", a, other, name)
			}
			names[name] = a
		}
	}
	if len(slices.Collect(maps.Keys(names))) < 2000 {
		t.Error(strconv.Itoa(len(names)) + " names")
	}
}
