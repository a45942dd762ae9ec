package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
)

// What state dns shows: testdata/dns/records.txt. A line is "KIND LEASE NAME HOST | SPEC | STATUS | METADATA", with "-" for a
// host where the object is not ours; a block's objects are shown together.
func TestRecordTable(t *testing.T) {
	datadriven.RunTest(t, "testdata/dns/records.txt", func(t *testing.T, d *datadriven.TestData) string {
		var in Contents
		for line := range strings.Lines(d.Input) {
			parts := strings.Split(strings.TrimSuffix(line, "\n"), "|")
			for len(parts) < 4 {
				parts = append(parts, "")
			}
			words := strings.Fields(parts[0])
			id := claimtest.WordLease(t, words[1])
			o := &unstructured.Unstructured{}
			text := fmt.Sprintf("{kind: %s, spec: {%s}, status: {%s}, metadata: {%s}}", words[0], parts[1], parts[2], parts[3])
			body, err := yaml.YAMLToJSON([]byte(text))
			if err == nil {
				err = o.UnmarshalJSON(body)
			}
			if err != nil {
				t.Fatal(text, err)
			}
			o.SetNamespace(id.Namespace())
			o.SetName(words[2])
			o.SetLabels(id.Labels())
			if words[3] != "-" {
				annotations := o.GetAnnotations()
				if annotations == nil {
					annotations = map[string]string{}
				}
				annotations["net.akash.network/host"] = words[3]
				o.SetAnnotations(annotations)
			}
			in.Records = append(in.Records, RecordObjectOf(o))
		}
		var out strings.Builder
		for _, r := range NewBook(config.Default(), in, SubjectDNS).DNS {
			text := fmt.Sprintf("%s: %s %s %s ttl %d %s by %s %s of %s", r.Host, r.Name, r.Type, strings.Join(r.Values, " "), r.TTL, r.State, r.Kind, r.Object, r.Lease)
			for _, more := range []struct{ name, value string }{{"zone", r.Zone}, {"last", r.LastOperation}, {"because", r.Message}} {
				if more.value != "" {
					text += ", " + more.name + " " + more.value
				}
			}
			fmt.Fprintln(&out, claimtest.Short(text))
		}
		if out.Len() == 0 {
			return "nothing\n"
		}
		return out.String()
	})
}

// NextEnd returns the nearest expiry after now, plus the margin for clocks.
func TestNextEndInWords(t *testing.T) {
	for text, want := range map[string]string{
		"claim host a.example.com A: / A/1":                                                      "none",
		"claim host a.example.com A: / A/1 minute=20":                                            "20:06",
		"claim host a.example.com A: / A/1 minute=20, /v1 A/1 minute=15":                         "15:06",
		"claim host a.example.com A: / A/1 minute=9, /v1 A/1 minute=15":                          "15:06",
		"claim host a.example.com A: / A/1 minute=9":                                             "none",
		"claim address 203.0.113.7@x A: any A/1 minute=12\nclaim host a.b A: / A/1 minute=13":    "12:06",
		"claim host a.example.com A: / A/1 minute=10":                                            "10:06",
		"claim endpoint public@public A: 443/tcp A/1 minute=11\nclaim host a.b A: / A/1 run=x":   "11:06",
		"claim host a.example.com A: / A/1 minute=20\nclaim host b.example.com B: / B/1 run=x":   "20:06",
		"claim wildcard *.example.com A: / A/1 minute=16\nclaim host b.c A: / A/1 minute=16":     "16:06",
		"claim host a.example.com A going: / A/1 minute=18\nclaim host b.c A: / A/1 minute=19":   "18:06",
		"claim host a.example.com A unreadable: / A/1 minute=18":                                 "18:06",
		"claim host a.example.com A: / A/1 minute=18; waits /v1 A/2 minute=12":                   "18:06",
		"claim address 203.0.113.7@x A: any A/1\nclaim address 203.0.113.8@x A: any A/1 run=x":   "none",
		"claim address 203.0.113.7@x A: any A/1 minute=30\nclaim address 203.0.113.8@x A going:": "30:06",
	} {
		b := wordBook(t, text, SubjectHosts, SubjectIPs)
		got := "none"
		if at := b.NextEnd(statetest.Minute(10)); !at.IsZero() {
			got = at.Format("04:05")
		}
		if got != want {
			t.Errorf("%q: the next end is %s, want %s", text, got, want)
		}
	}
}
