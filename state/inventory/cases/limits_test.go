package cases_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/state/inventory/cases"
)

// A case at the limits is read and answered; beyond them it is refused.
func TestLimits(t *testing.T) {
	group := func(fields string) string { return `{"name":"g","resources":[{"id":1,` + fields + `}]}` }
	replicas := func(n int) string { return group(fmt.Sprintf(`"count":%d`, n)) }
	attributes := func(n int) string {
		return group(`"gpu":{"units":1,"attributes":["` + strings.Repeat(`","`, n-1) + `"]}`)
	}
	named := func(n int) string { return strings.Replace(line(""), `"n1"`, `"`+strings.Repeat("n", n)+`"`, 1) }
	reserved := func(n int) string {
		return strings.Replace(line(replicas(50_000)), `"requests"`, `"reservations":[{"state":"active","group":`+replicas(n)+`}],"requests"`, 1)
	}
	for name, c := range map[string]struct{ most, more string }{
		"replicas":                    {line(replicas(100_000)), line(replicas(100_001))},
		"replicas of two requests":    {line(replicas(50_000) + "," + replicas(50_000)), line(replicas(50_000) + "," + replicas(50_001))},
		"replicas of a reservation":   {reserved(50_000), reserved(50_001)},
		"replicas that wrap":          {line(replicas(0)), line(strings.TrimSuffix(strings.Repeat(replicas(4294967295)+",", 2), ","))},
		"attributes":                  {line(attributes(1000)), line(attributes(1001))},
		"a name":                      {named(253), named(254)},
		"node ports without limit":    {strings.Replace(line(""), `"storage":[]`, `"storage":[],"node_ports":{"allocatable":-1,"allocated":0}`, 1), strings.Replace(line(""), `"storage":[]`, `"storage":[],"node_ports":{"allocatable":-2,"allocated":0}`, 1)},
		"node ports in use":           {strings.Replace(line(""), `"storage":[]`, `"storage":[],"node_ports":{"allocatable":0,"allocated":9223372036854775807}`, 1), strings.Replace(line(""), `"storage":[]`, `"storage":[],"node_ports":{"allocatable":0,"allocated":-1}`, 1)},
		"addresses":                   {strings.Replace(line(""), `"ip":null`, `"ip":{"total":18446744073709551615,"in_use":18446744073709551615}`, 1), strings.Replace(line(""), `"ip":null`, `"ip":{"total":-1}`, 1)},
		"a level":                     {strings.Replace(line(replicas(1)), `"ip"`, `"commit":{"cpu":1e308,"gpu":-1e308},"ip"`, 1), strings.Replace(line(replicas(1)), `"ip"`, `"commit":{"cpu":1e309},"ip"`, 1)},
		"resources":                   {line(`{"name":"","resources":null}`), line(`{"name":"","resources":{}}`)},
		"an endpoint of no number":    {line(group(`"endpoints":[{"kind":"LEASED_IP"}]`)), line(group(`"endpoints":[{"kind":"LEASED_IP","sequence_number":4294967296}]`))},
		"an id that two have":         {line(`{"resources":[{"id":1,"count":1},{"id":1,"count":1}]}`), line(`{"resources":[{"id":-1}]}`)},
		"no cluster":                  {`{"cluster":{"nodes":[]},"requests":[]}`, `{"cluster":null,"requests":[]}`},
		"no resources of the request": {line(`{}`), line(`[]`)},
	} {
		if _, err := read(c.most, 1<<20); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := read(c.more, 1<<20); err == nil {
			t.Errorf("%s: more is read", name)
		} else if len(err.Error()) > 500 {
			t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
		}
	}
}

// A line of the largest size is read, one byte more is not. The line end counts.
func TestTheLargestLine(t *testing.T) {
	text := line("") + "\n"
	for size, want := range map[int]int{len(text): 2, len(text) - 1: 0} {
		names, err := read(text+text, int64(size))
		if len(names) != want || (err == nil) != (want == 2) {
			t.Errorf("%d of %d bytes: %d cases, %v", size, len(text), len(names), err)
		}
	}
}

// The answer to a case does not depend on earlier cases or on line ends, and has either a placement or a reason.
func TestCasesAreApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		for range rapid.IntRange(1, 4).Draw(t, "cases") {
			var requests []string
			for range rapid.IntRange(0, 3).Draw(t, "requests") {
				requests = append(requests, fmt.Sprintf(`{"name":"g","resources":[{"id":%d,"count":%d,"cpu":%d,"memory":%d}]}`, rapid.IntRange(0, 2).Draw(t, "id"),
					rapid.IntRange(0, 3).Draw(t, "count"), rapid.IntRange(0, 3000).Draw(t, "cpu"), rapid.IntRange(0, 9).Draw(t, "memory")))
			}
			lines = append(lines, line(strings.Join(requests, ",")))
		}
		alone := make([]string, len(lines))
		for i, l := range lines {
			alone[i] = answers(t, l)
		}
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\n\n \n"}).Draw(t, "end")
		if got, want := answers(t, strings.Join(lines, end)), strings.Join(alone, ""); got != want {
			t.Errorf("together\n%s\neach by itself\n%s", got, want)
		}
	})
}

func answers(t *rapid.T, text string) (out string) {
	for c, err := range cases.Read(strings.NewReader(text), "-", 1<<20) {
		if err != nil {
			t.Fatal(err)
		}
		a := c.Answer()
		for i, r := range a.Results {
			if r.Fits != (r.Reason == "" && r.Message == "") || r.Fits && len(r.Allocated) != len(c.Requests[i].Resources) || !r.Fits && (r.Placement != nil || r.Allocated != nil) {
				t.Errorf("%+v", r)
			}
			if r.Fits != strings.HasPrefix(r.String(), "fits") {
				t.Errorf("%s", r)
			}
		}
		if len(a.Lines(c)) != len(c.Requests) || a.Refused() != len(slices.DeleteFunc(slices.Clone(a.Results), func(r cases.Result) bool { return r.Fits })) {
			t.Errorf("%+v", a)
		}
		data, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		out += string(data) + "\n"
	}
	return out
}
