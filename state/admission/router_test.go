package admission

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// routerCase is a case of testdata: live routes, and after the bar the message for each.
type routerCase struct {
	name   string
	rules  Rules
	routes []Route
	want   []string
}

var (
	caseLine  = regexp.MustCompile(`^(\S.*) \[(.*)\]$`)
	routeLine = regexp.MustCompile(`^  (\d+) (\S+)/(\S+)(?: #(\S+))? ?(\*~)?([^/ ]*)(/\S*)?(?: \((\w+)\))? ?(?:\| (.*))?$`)
)

func readCases(t *testing.T, name string) []routerCase {
	t.Helper()
	file, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	var cases []routerCase
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		if m := caseLine.FindStringSubmatch(line); m != nil {
			cases = append(cases, routerCase{name: m[1], rules: rulesOf(m[2])})
			continue
		}
		m := routeLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("%s: not understood: %q", name, line)
		}
		seconds, _ := strconv.Atoi(m[1])
		r := Route{
			Kind: KindRoute, Namespace: m[2], Name: m[3], UID: types.UID(m[4]), Created: epoch.Add(time.Duration(seconds) * time.Second),
			Host: m[6], Path: m[7], TLS: m[8] != "", Passthrough: m[8] == "passthrough",
		}
		if r.UID == "" {
			r.UID = types.UID(m[2] + "-" + m[3])
		}
		if m[5] != "" {
			r.Wildcard = WildcardSubdomain
		}
		c := &cases[len(cases)-1]
		c.routes, c.want = append(c.routes, r), append(c.want, m[9])
	}
	return cases
}

func rulesOf(options string) Rules {
	cfg := config.Default()
	cfg.Hosts.NamespaceOwnership = false
	for option := range strings.FieldsSeq(options) {
		name, list, _ := strings.Cut(option, "=")
		switch name {
		case "own":
			cfg.Hosts.NamespaceOwnership = true
		case "wild":
			cfg.Hosts.Wildcards = true
		case "deny":
			cfg.Hosts.DeniedDomains = strings.Split(list, ",")
		case "allow":
			cfg.Hosts.AllowedDomains = strings.Split(list, ",")
		default:
			panic(option)
		}
	}
	return NewRules(cfg)
}

// verdicts returns the reasons and messages of refused routes, by namespace/name.
func verdicts(admissions []Admission) map[string]string {
	out := map[string]string{}
	for _, a := range admissions {
		text := strings.TrimSpace(a.Reason + " " + a.Message)
		if a.Admitted != (text == "") {
			text = fmt.Sprintf("admitted %t with reason %q", a.Admitted, text)
		}
		out[a.Namespace+"/"+a.Name] = text
	}
	return out
}

// The verdicts are those of a freshly started OpenShift router, in whatever order the routes come.
func TestAsTheRouter(t *testing.T) {
	cases := readCases(t, "router.txt")
	if len(cases) < 70 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want := map[string]string{}
			for i, r := range c.routes {
				want[r.Namespace+"/"+r.Name] = c.want[i]
			}
			random := rand.New(rand.NewPCG(1, 2))
			for range 5 {
				got := verdicts(Decide(c.rules, nil, c.routes, nil))
				for name, text := range want {
					if text != "" && !strings.Contains(text, " ") { // no message was written down
						got[name], _, _ = strings.Cut(got[name], " ")
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
				random.Shuffle(len(c.routes), func(i, j int) { c.routes[i], c.routes[j] = c.routes[j], c.routes[i] })
			}
		})
	}
}

// A route is refused if and only if one of its rivals is admitted. With ownership this concerns the wildcard layer
// alone, without it both layers.
func TestRivals(t *testing.T) {
	for _, c := range readCases(t, "rivals.txt") {
		t.Run(c.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(3, 4))
			for range 2000 {
				f := newFold(&c.rules, nil, nil)
				present := map[string]bool{}
				for i := range c.routes { // from the oldest to the newest
					r := &c.routes[i]
					if random.IntN(3) == 0 {
						continue
					}
					want := true
					for rival := range strings.FieldsSeq(c.want[i]) {
						want = want && !present[rival]
					}
					var got Verdict
					if c.rules.ownership {
						got = f.wildcardLayer(r, r.identity())
					} else {
						got = f.next(r)
					}
					if got.Admitted != want {
						t.Fatalf("%s %s%s: admitted %t (%s), want %t; there are %v", r, r.Host, r.Path, got.Admitted, got.Message, want, present)
					}
					present[r.Namespace+"/"+r.Name] = got.Admitted
				}
			}
		})
	}
}

func TestWildcardPolicies(t *testing.T) {
	for policy, want := range map[Wildcard]string{
		WildcardNone: "", WildcardSubdomain: "RouteNotAdmitted wildcard routes are not allowed", "nono": "RouteNotAdmitted unknown wildcard policy nono",
	} {
		route := Route{Kind: KindRoute, Namespace: "ns1", Name: "a", Host: "www.abc.xyz", Wildcard: policy}
		if got := verdicts(Decide(rulesOf("own"), nil, []Route{route}, nil))["ns1/a"]; got != want {
			t.Errorf("policy %q: %q, want %q", policy, got, want)
		}
	}
}

func TestHostNames(t *testing.T) {
	invalid := func(host string, details ...string) string {
		for i, d := range details {
			details[i] = fmt.Sprintf("spec.host: Invalid value: %q: %s", host, d)
		}
		return "InvalidHost host name validation errors: " + strings.Join(details, ", ")
	}
	const notDNS = "host must conform to DNS 952 subdomain conventions"
	const notLabel = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
	label := strings.Repeat("a", 63)
	for host, want := range map[string]string{
		"a": "", "a.b": "", "1.2.3.4": "", "xn--bcher-kva.test": "", label + ".example.test": "",
		"":                       "NoHostValue no host value was defined for the route",
		"A.b":                    invalid("A.b", notDNS, notLabel),
		"a..b":                   invalid("a..b", notDNS, notLabel),
		"a.":                     invalid("a.", notDNS, notLabel),
		"*.a.b":                  invalid("*.a.b", notDNS, notLabel),
		"bücher.test":            invalid("bücher.test", notDNS, notLabel),
		label + "a.example.test": invalid(label+"a.example.test", "must be no more than 63 characters"),
	} {
		route := Route{Kind: KindRoute, Namespace: "ns1", Name: "a", Host: host}
		if got := verdicts(Decide(rulesOf("own"), nil, []Route{route}, nil))["ns1/a"]; got != want {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
}

// A domain includes itself and all names below it, on label boundaries.
func TestDomains(t *testing.T) {
	for _, c := range []struct{ options, host, want string }{
		{"deny=open.header.test,block.it", "foo.header.test", ""},
		{"deny=open.header.test,block.it", "open.header.test", "host in list of denied domains"},
		{"deny=open.header.test,block.it", "www.open.header.test", "host in list of denied domains"},
		{"deny=open.header.test,block.it", "sunblock.it", ""},
		{"deny=open.header.test,block.it", "franco.baresi.block.it", "host in list of denied domains"},
		{"deny=test", "foo.header.test", "host in list of denied domains"},
		{"allow=kates.net", "api.kates.net", ""},
		{"allow=kates.net", "kates.network", "host not in the allowed list of domains"},
		{"allow=kates.net deny=ops.kates.net", "ops.kates.net", "host in list of denied domains"},
		{"allow=kates.net deny=ops.kates.net", "devops.kates.net", ""},
	} {
		v := Decide(rulesOf("own "+c.options), nil, []Route{{Kind: KindRoute, Host: c.host}}, nil)[0]
		if v.Message != c.want || v.Admitted != (c.want == "") || c.want != "" && v.Reason != ReasonNotAdmitted {
			t.Errorf("%s, %s: %+v, want %q", c.options, c.host, v.Verdict, c.want)
		}
	}
}
