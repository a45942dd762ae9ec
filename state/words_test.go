package state_test

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	. "github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	. "github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// The tables under testdata say leases, parts and claims in the words of claimtest; `go test ./state -rewrite` writes what the
// rules say now. A use is
//
//	KIND NAMESPACE/NAME of LEASE|nobody [namespace] [granted] [external] [at=ADDRESS] [key=OWNER@ENDPOINT] [SERVICE:PORT]

// table runs a file of a table: the rule of the block's command answers each line of the block on a line of its own.
func table(t *testing.T, file string, rules map[string]func(t *testing.T, line string) string) {
	t.Helper()
	answers := golden.Rules{}
	for name, rule := range rules {
		answers[name] = func(line string) string { return Short(rule(t, line)) }
	}
	answers.Check(t, "testdata/"+file)
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

// each says something of each of a list.
func each[T any](list []T, say func(T) string) string {
	texts := make([]string, len(list))
	for i, x := range list {
		texts[i] = say(x)
	}
	return strings.Join(texts, "; ")
}

func wordClaims(t *testing.T, text string) (claims []*Claim) {
	for one := range strings.SplitSeq(text, ";;") {
		if c := WordClaim(t, one); c != nil {
			claims = append(claims, c)
		}
	}
	return claims
}

// sayPart is WordPart's inverse.
func sayPart(p Part) string {
	key := p.Key
	switch protocol, port := p.ProtocolPort(); {
	case p.Path != "":
		key = p.Path
	case protocol != "":
		key = fmt.Sprintf("%d/%s", port, strings.ToLower(string(protocol)))
	}
	text := key + " " + p.Lease.String()
	if p.Service != "" || p.Port != 0 {
		text += fmt.Sprintf(" %s:%d", p.Service, p.Port)
	}
	p.Key, p.Path, p.Lease, p.Service, p.Port, p.LeaseText = "", "", lease.ID{}, "", 0, ""
	return strings.TrimSpace(text + " " + statetest.Say(p))
}

func sayClaim(c *Claim) string {
	if c == nil {
		return "none"
	}
	text := fmt.Sprintf("%s %s of %s", c.Kind, c.Thing, c.Owner)
	if len(c.Parts) > 0 {
		text += ": " + each(c.Parts, sayPart)
	}
	if len(c.Waits) > 0 {
		text += "; waits " + each(c.Waits, sayPart)
	}
	rest := *c
	rest.Kind, rest.Thing, rest.Owner, rest.Parts, rest.Waits, rest.Created, rest.Updated = "", "", "", nil, nil, time.Time{}, time.Time{}
	return strings.TrimSpace(text + " " + statetest.Say(rest))
}

// endpointOf parses OWNER@ENDPOINT.
func endpointOf(t testing.TB, text string) (owner, key string) {
	who, endpoint, _ := strings.Cut(strings.TrimSpace(text), "@")
	owner = WordLease(t, who).Owner
	return owner, lease.SharingKey(owner, endpoint)
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
		u.Lease, u.HasLease, u.Labelled = WordLease(t, words[3]), true, true
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
			_, u.SharingKey = endpointOf(t, value)
		case isBackend:
			n, _ := strconv.ParseUint(port, 10, 16)
			u.Service, u.Port = service, uint16(n)
		default:
			t.Fatalf("%q says %q of a use", text, word)
		}
	}
	return u
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
	return strings.ReplaceAll(each(ranges, config.Range.MetalLB), ";", "")
}

// wordObject parses an object written as YAML; LEASE in its labels are the labels of A/1, OWN is the namespace of A/1.
func wordObject(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	id := WordLease(t, "A/1")
	labels, _ := yaml.Marshal(id.Labels())
	text = strings.NewReplacer("LEASE", strings.ReplaceAll(strings.TrimSpace(string(labels)), "\n", ", "), "OWN", id.Namespace(), "KEY", lease.SharingKey(id.Owner, "public")).Replace(text)
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
