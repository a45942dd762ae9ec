package state

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// The tables under testdata say leases, parts, claims and uses in words; `go test ./state -rewrite` writes what the
// rules say now.
//
//	lease   A/2 is the second deployment of owner A; A/2/3 its group 3, A/2/3/4 of order 4
//	part    KEY LEASE [SERVICE:PORT] [run=N] [expires=-5m] [from=A/3] [bound] [applied]; KEY is a path, 443/tcp, or any
//	claim   KIND THING OWNER [FLAG...]: PART, PART; waits PART; an address names its endpoint: 203.0.113.7@public
//	        flags are going, unreadable, uid=U, minute=N (when it was made)
//	use     KIND NAMESPACE/NAME of LEASE|nobody [namespace] [granted] [external] [at=ADDRESS] [key=ENDPOINT] [SERVICE:PORT]

// wordsNow is the time of all tables, by the API server's clock.
var wordsNow = statetest.Minute(60)

// table runs a file of a table: the rule of the block's command answers each line of the block on a line of its own.
func table(t *testing.T, file string, rules map[string]func(t *testing.T, line string) string) {
	t.Helper()
	datadriven.RunTest(t, "testdata/"+file, func(t *testing.T, d *datadriven.TestData) string {
		rule, known := rules[d.Cmd]
		if !known {
			t.Fatalf("%s: there is no rule %q", d.Pos, d.Cmd)
		}
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			fmt.Fprintf(&out, "%s  =>  %s\n", line, short(rule(t, line)))
		}
		return out.String()
	})
}

func wordLease(t testing.TB, text string) lease.ID {
	t.Helper()
	words := strings.Split(text, "/")
	id := lease.ID{Owner: "akash1" + strings.ToLower(words[0]), GSeq: 1, OSeq: 1, Provider: "akash1p"}
	for i, word := range words[1:] {
		n, err := strconv.ParseUint(word, 10, 32)
		if err != nil {
			t.Fatalf("%q is no lease", text)
		}
		switch i {
		case 0:
			id.DSeq = n
		case 1:
			id.GSeq = uint32(n)
		case 2:
			id.OSeq = uint32(n)
		}
	}
	return id
}

// short replaces leases, their namespaces and keys by the words of the tables.
var short = func() func(string) string {
	var leases, groups, owners []string
	for _, owner := range []string{"A", "B", "C"} {
		for dseq := range 4 {
			for gseq := range uint32(2) {
				for oseq := range uint32(2) {
					id := lease.ID{Owner: "akash1" + strings.ToLower(owner), DSeq: uint64(dseq + 1), GSeq: gseq + 1, OSeq: oseq + 1, Provider: "akash1p"}
					name := fmt.Sprintf("%s/%d", owner, id.DSeq)
					if gseq+oseq > 0 {
						name += fmt.Sprintf("/%d", id.GSeq)
					}
					if groups = append(groups, id.Group().String(), name); oseq > 0 {
						name += fmt.Sprintf("/%d", id.OSeq)
					}
					leases = append(leases, id.String(), name, id.Namespace(), "ns("+name+")")
				}
			}
		}
		owners = append(owners, "akash1"+strings.ToLower(owner), owner)
	}
	for _, path := range []string{"/", "/v1", "/v2", "/v3"} {
		owners = append(owners, RouteKey(path), path)
	}
	owners = append(owners, WholeAddress, "any")
	return strings.NewReplacer(slices.Concat(leases, groups, owners)...).Replace
}()

func wordKey(text string) string {
	port, protocol, isPort := strings.Cut(text, "/")
	switch n, err := strconv.ParseUint(port, 10, 16); {
	case text == "any":
		return WholeAddress
	case isPort && err == nil:
		return PortKey(lease.Protocol(strings.ToUpper(protocol)), uint16(n))
	case strings.HasPrefix(text, "/"):
		return RouteKey(text)
	}
	return text
}

// wordPart parses a part.
func wordPart(t testing.TB, text string) Part {
	t.Helper()
	words := strings.Fields(text)
	p := Part{Key: wordKey(words[0]), Lease: wordLease(t, words[1])}
	if strings.HasPrefix(words[0], "/") {
		p.Path = words[0]
	}
	for _, word := range words[2:] {
		name, value, _ := strings.Cut(word, "=")
		service, port, isBackend := strings.Cut(word, ":")
		switch {
		case name == "run":
			p.Run = value
		case name == "expires":
			after, err := time.ParseDuration(value)
			if p.Expires = wordsNow.Add(after).Format(time.RFC3339); err != nil {
				p.Expires = value
			}
		case name == "from" && value == "junk":
			p.From = value
		case name == "from":
			p.From = wordLease(t, value).Group().String()
		case word == "bound":
			p.Bound = true
		case word == "applied":
			p.Applied = true
		case isBackend:
			n, _ := strconv.ParseUint(port, 10, 16)
			p.Service, p.Port = service, uint16(n)
		default:
			t.Fatalf("%q says %q of a part", text, word)
		}
	}
	return p
}

// sayPart is wordPart's inverse.
func sayPart(p Part) string {
	text := p.Key
	switch protocol, port := p.ProtocolPort(); {
	case p.Path != "":
		text = p.Path
	case protocol != "":
		text = fmt.Sprintf("%d/%s", port, strings.ToLower(string(protocol)))
	}
	text += " " + p.Lease.String()
	if p.Service != "" || p.Port != 0 {
		text += fmt.Sprintf(" %s:%d", p.Service, p.Port)
	}
	for _, x := range []struct{ name, value string }{{"run", p.Run}, {"expires", p.Expires}, {"from", p.From}, {"definition", p.Definition}} {
		if x.value != "" {
			text += " " + x.name + "=" + x.value
		}
	}
	for _, x := range []struct {
		name string
		is   bool
	}{{"bound", p.Bound}, {"applied", p.Applied}, {"http", p.HTTP != nil}} {
		if x.is {
			text += " " + x.name
		}
	}
	return text
}

func sayParts(parts []Part) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = sayPart(p)
	}
	return strings.Join(texts, ", ")
}

// wordClaim parses a claim. It returns nil for "none".
func wordClaim(t testing.TB, text string) *Claim {
	t.Helper()
	if text = strings.TrimSpace(text); text == "none" || text == "" {
		return nil
	}
	// the first ": " ends what is said of the whole; a claim without parts ends with ":"
	head, rest, _ := strings.Cut(text+" ", ": ")
	words := strings.Fields(head)
	if len(words) < 3 {
		t.Fatalf("%q is no claim", text)
	}
	c := &Claim{Kind: Kind(words[0]), Thing: words[1], Created: statetest.Minute(1)}
	if words[2] != "-" {
		c.Owner = wordLease(t, words[2]).Owner
	}
	if thing, endpoint, named := strings.Cut(words[1], "@"); named {
		c.Thing, c.SharingKey = thing, lease.SharingKey(c.Owner, endpoint)
		if c.Kind == Endpoint {
			c.Thing = c.SharingKey
		}
	}
	for _, word := range words[3:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "going":
			c.Deleting = true
		case "unreadable":
			c.Unreadable = "it cannot be read"
		case "uid":
			c.UID = types.UID(value)
		case "minute":
			n, _ := strconv.Atoi(value)
			c.Created = statetest.Minute(n)
		default:
			t.Fatalf("%q says %q of a claim", text, word)
		}
	}
	held, waits, _ := strings.Cut(rest, "; waits ")
	for part := range strings.SplitSeq(held, ",") {
		if strings.TrimSpace(part) != "" {
			c.Parts = append(c.Parts, wordPart(t, part))
		}
	}
	for part := range strings.SplitSeq(waits, ",") {
		if strings.TrimSpace(part) != "" {
			c.Waits = append(c.Waits, wordPart(t, part).Wait("d", nil))
		}
	}
	return c
}

// sayClaim prints a claim.
func sayClaim(c *Claim) string {
	if c == nil {
		return "none"
	}
	text := fmt.Sprintf("%s %s of %s", c.Kind, c.Thing, c.Owner)
	if c.SharingKey != "" && c.Kind != Endpoint {
		text += " for " + c.SharingKey
	}
	if c.Deleting {
		text += " going"
	}
	if len(c.Parts) > 0 {
		text += ": " + sayParts(c.Parts)
	}
	if len(c.Waits) > 0 {
		text += "; waits"
		for _, w := range c.Waits {
			key := w.Key
			w.Key = w.For
			text += " " + sayPart(w)
			if !strings.HasPrefix(key, waitPrefix) {
				text += " under " + key
			}
		}
	}
	if c.Unreadable != "" {
		text += " ! " + c.Unreadable
	}
	return text
}

// wordUse parses a use.
func wordUse(t testing.TB, text string) Use {
	t.Helper()
	words := strings.Fields(text)
	if len(words) < 4 || words[2] != "of" {
		t.Fatalf("%q is no use", text)
	}
	u := Use{Kind: words[0], Since: statetest.Minute(2)}
	var namespaced bool
	if u.Namespace, u.Name, namespaced = strings.Cut(words[1], "/"); !namespaced {
		u.Namespace, u.Name = "", words[1]
	}
	if words[3] != "nobody" {
		u.Lease, u.HasLease, u.Labelled = wordLease(t, words[3]), true, true
		if u.Namespace == "own" {
			u.Namespace = u.Lease.Namespace()
		}
	}
	for _, word := range words[4:] {
		name, value, _ := strings.Cut(word, "=")
		service, port, isBackend := strings.Cut(word, ":")
		switch {
		case word == "namespace":
			u.Labelled = false // only its namespace names the lease
		case word == "granted":
			u.Granted = true
		case word == "external":
			u.External = true
		case name == "at":
			u.Address = netip.MustParseAddr(value)
		case name == "key":
			u.SharingKey = value
		case isBackend:
			n, _ := strconv.ParseUint(port, 10, 16)
			u.Service, u.Port = service, uint16(n)
		default:
			t.Fatalf("%q says %q of a use", text, word)
		}
	}
	return u
}

func wordUses(t testing.TB, text string) (uses []Use) {
	t.Helper()
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one != "" && one != "none" {
			uses = append(uses, wordUse(t, one))
		}
	}
	return uses
}

// wordRanges parses ranges separated by blanks.
func wordRanges(t testing.TB, text string) (ranges []config.Range) {
	t.Helper()
	for word := range strings.FieldsSeq(text) {
		r, err := config.ParseRange(word)
		if err != nil {
			t.Fatal(err)
		}
		ranges = append(ranges, r)
	}
	return ranges
}

func sayRanges(ranges []config.Range) string {
	texts := make([]string, len(ranges))
	for i, r := range ranges {
		texts[i] = r.MetalLB()
	}
	return strings.Join(texts, " ")
}

// object parses an object written as YAML.
func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	body, err := yaml.YAMLToJSON([]byte(text))
	o := &unstructured.Unstructured{}
	if err == nil {
		err = o.UnmarshalJSON(body)
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return o
}

// fields splits a line at its bars.
func fields(line string, n int) []string {
	out := strings.Split(line, "|")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	for len(out) < n {
		out = append(out, "")
	}
	return out
}
