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
	"github.com/akash-net/kubectl-akash-net/test/golden"
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

// Hosts, wildcard policies and domains as the router answers them: testdata/hosts.txt. LABEL is one of 63 characters. A domain includes itself
// and all names below it, on label boundaries.
func TestHosts(t *testing.T) {
	label := strings.Repeat("a", 63)
	said := func(options string, r Route) string {
		r.Kind, r.Namespace, r.Name = KindRoute, "ns1", "a"
		return strings.ReplaceAll(verdicts(Decide(rulesOf(options), nil, []Route{r}, nil))["ns1/a"], label, "LABEL")
	}
	golden.Rules{
		"host":   func(line string) string { return said("own", Route{Host: strings.ReplaceAll(line, "LABEL", label)}) },
		"policy": func(line string) string { return said("own", Route{Host: "www.abc.xyz", Wildcard: Wildcard(line)}) },
		"domain": func(line string) string {
			options, host, _ := strings.Cut(line, " | ")
			return said("own "+options, Route{Host: host})
		},
	}.Check(t, "testdata/hosts.txt")
}
