package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Moved lists each change that only one of two plans has, or that differs between them, once by its ID.
func TestMoved(t *testing.T) {
	host := Change{Action: Claim, Kind: "host", Name: "a.example.com", After: map[string]any{"/": "web:80"}}
	route := Change{Action: Create, Kind: "ingress", Namespace: "ns", Name: "a.example.com", After: map[string]any{"spec": "x"}}
	other := func(c Change, change func(*Change)) Change {
		change(&c)
		return c
	}
	for name, tt := range map[string]struct {
		made, now []Change
		refused   string
		want      []string
	}{
		"nothing":               {nil, nil, "", nil},
		"the same":              {[]Change{host, route}, []Change{route, host}, "", nil},
		"one is done":           {[]Change{host, route}, []Change{route}, "", []string{"host/a.example.com"}},
		"one is new":            {[]Change{host}, []Change{host, route}, "", []string{"ingress/ns/a.example.com"}},
		"refused":               {[]Change{host}, nil, "held", []string{"host/a.example.com", "lease/akash1x/1/1"}},
		"another action":        {[]Change{host}, []Change{other(host, func(c *Change) { c.Action = Withhold })}, "", []string{"host/a.example.com"}},
		"another namespace":     {[]Change{route}, []Change{other(route, func(c *Change) { c.Namespace = "other" })}, "", []string{"ingress/ns/a.example.com", "ingress/other/a.example.com"}},
		"another kind":          {[]Change{route}, []Change{other(route, func(c *Change) { c.Kind = "httproute" })}, "", []string{"ingress/ns/a.example.com", "httproute/ns/a.example.com"}},
		"another name":          {[]Change{host}, []Change{other(host, func(c *Change) { c.Name = "b" })}, "", []string{"host/a.example.com", "host/b"}},
		"other contents":        {[]Change{route}, []Change{other(route, func(c *Change) { c.After = map[string]any{"spec": "y"} })}, "", []string{"ingress/ns/a.example.com"}},
		"other contents before": {[]Change{host}, []Change{other(host, func(c *Change) { c.Before = map[string]any{"/": "x"} })}, "", []string{"host/a.example.com"}},
		"made by the plan":      {[]Change{other(host, func(c *Change) { c.Planned = true })}, []Change{other(host, func(c *Change) { c.UID = "u" })}, "", nil},
		"another claim":         {[]Change{host}, []Change{other(host, func(c *Change) { c.UID = "u" })}, "", []string{"host/a.example.com"}},
		"another version":       {[]Change{host}, []Change{other(host, func(c *Change) { c.ResourceVersion = "2" })}, "", nil},
		"another reason":        {[]Change{host}, []Change{other(host, func(c *Change) { c.Why = "because" })}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := Lease{Lease: "akash1x/1/1", Changes: tt.made}.Moved(Lease{Lease: "akash1x/1/1", Changes: tt.now, Refused: tt.refused})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A claim that is known from a file is one that the cluster has, and not one that there was none of.
func TestClaimsOfFiles(t *testing.T) {
	claim := Change{Action: Claim, Kind: "host", Name: "a", After: map[string]any{"/": "web:80"}}
	there, inAFile := claim, claim
	there.UID, inAFile.Unpinned = "u1", true
	if claim.Same(there) || claim.Same(inAFile) || !inAFile.Same(there) || !there.Same(inAFile) {
		t.Error("a claim that there was none of is taken for one that is known from a file, or from the cluster")
	}
}

// Two releases of a claim are the same if they release the same parts, whatever the lease has claimed meanwhile.
func TestGivenUp(t *testing.T) {
	parts := func(names ...string) map[string]any {
		out := map[string]any{}
		for _, name := range names {
			out[name] = "x"
		}
		return out
	}
	made := Change{Action: GiveUp, Kind: "host", Name: "a", UID: "u", Before: parts("/a", "/b"), After: parts("/b")}
	for name, tt := range map[string]struct {
		before, after map[string]any
		same          bool
	}{
		"the same":             {parts("/a", "/b"), parts("/b"), true},
		"one more that stays":  {parts("/a", "/b", "/c"), parts("/b", "/c"), true},
		"one more that goes":   {parts("/a", "/b", "/c"), parts("/b"), false},
		"another one":          {parts("/b", "/c"), parts("/b"), false},
		"nothing goes":         {parts("/b"), parts("/b"), false},
		"all goes, as it goes": {parts("/a"), nil, true},
	} {
		now := made
		now.Before, now.After = tt.before, tt.after
		if made.Same(now) != tt.same || now.Same(made) != tt.same {
			t.Errorf("%s: the same %v", name, !tt.same)
		}
	}
}

// The owners of a value have the time of their last write; the own manager comes first, the others by name.
func TestOwners(t *testing.T) {
	live := object(t, `{kind: A, metadata: {name: a}, spec: {class: nginx}}`, nil)
	var entries []any
	for i, manager := range []string{"z", ours, "a", former} {
		entries = append(entries, map[string]any{
			"manager": manager, "operation": "Update", "fieldsType": "FieldsV1", "time": fmt.Sprintf("2026-11-22T10:00:0%dZ", i),
			"fieldsV1": map[string]any{"f:spec": map[string]any{"f:class": map[string]any{}}},
		})
	}
	entries = append(entries, map[string]any{"manager": "b", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:other": map[string]any{}}}})
	if err := unstructured.SetNestedSlice(live.Object, entries, "metadata", "managedFields"); err != nil {
		t.Fatal(err)
	}
	fields := Fields(live, map[string]any{"spec": map[string]any{"class": "traefik", "new": "x"}}, ours)
	at := func(second int) time.Time { return time.Date(2026, 11, 22, 10, 0, second, 0, time.UTC) }
	want := []Field{
		{Path: Path{"spec", "class"}, Before: "nginx", After: "traefik", Conflict: true, Owners: []Owner{{Manager: ours, Since: at(1), Own: true}, {Manager: "a", Since: at(2)}, {Manager: former, Since: at(3)}, {Manager: "z", Since: at(0)}}},
		{Path: Path{"spec", "new"}, After: "x"},
	}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Error(diff)
	}
}

// The time of a reconcile request of a DNSRecord makes no plan stale; every other annotation does.
func TestRequestTimeOfARecord(t *testing.T) {
	const at = `{kind: DNSRecord, metadata: {name: a, uid: u, annotations: {gardener.cloud/timestamp: "1", other: x}}}`
	change := func(stamp, other string) Change {
		return Write("dnsrecord", object(t, `{metadata: {annotations: {gardener.cloud/timestamp: "`+stamp+`", other: `+other+`}}}`, nil).Object, object(t, at, nil), ours)
	}
	if !change("2", "x").Same(change("3", "x")) {
		t.Error("plans with different request times differ")
	}
	if change("2", "y").Same(change("2", "z")) || change("2", "y").Same(change("2", "x")) {
		t.Error("another annotation makes the same plan")
	}
}

// Nor does the moment at which a ProviderHost was deployed, whether it is made, or changed within the same second or later.
func TestMomentOfAProviderHost(t *testing.T) {
	write := func(live *unstructured.Unstructured, stamp, other string) Change {
		want := object(t, `{kind: ProviderHost, metadata: {name: a, annotations: {akash.network/lease.updated_at: "`+stamp+`", other: `+other+`}}}`, nil)
		return Write("providerhost", want.Object, live, ours)
	}
	at := object(t, `{kind: ProviderHost, metadata: {name: a, uid: u, annotations: {akash.network/lease.updated_at: "1", other: x}}}`, nil)
	for name, live := range map[string]*unstructured.Unstructured{"made": nil, "changed": at} {
		first := write(live, "1", "y")
		if !first.Same(write(live, "2", "y")) || !write(live, "2", "y").Same(first) {
			t.Errorf("%s: another moment is another change", name)
		}
		if first.Same(write(live, "1", "z")) {
			t.Errorf("%s: another value is the same change", name)
		}
	}
}

// Fields that an update sets and that the object lacks were removed by somebody, unless what the lease itself sets changes too.
func TestRemoved(t *testing.T) {
	gone, akashs := Field{Path: Path{"spec", "a"}, After: 1}, Field{Path: Path{"metadata", "labels", "akash.network"}, After: "true"}
	conflict := Field{Path: Path{"spec", "b"}, Before: 1, After: 2, Conflict: true, Owners: []Owner{{Manager: "x"}, {Manager: "w"}}}
	for name, tt := range map[string]struct {
		fields []Field
		want   string
	}{
		"nothing":                  {nil, ""},
		"a field":                  {[]Field{gone}, "spec.a"},
		"Akash's label":            {[]Field{akashs, gone}, "spec.a"},
		"beside a conflict":        {[]Field{gone, conflict}, "spec.a"},
		"beside the lease's own":   {[]Field{gone, {Path: Path{"spec", "c"}, Before: 1, After: 2}}, ""},
		"of an earlier definition": {[]Field{gone, {Path: Path{"metadata", "annotations", "net.akash.network/definition"}, After: "h"}}, ""},
	} {
		c := Change{Fields: tt.fields}
		got := ""
		for _, f := range c.Removed() {
			got += f.Path.String()
		}
		if got != tt.want {
			t.Errorf("%s: removed are %q, want %q", name, got, tt.want)
		}
	}
	if got := (Change{Fields: []Field{conflict, gone, conflict}}).Others(); fmt.Sprint(got) != "[x w]" {
		t.Errorf("the others are %v", got)
	}
}

// An update shows the object as it would be: what is dropped goes with the list or map that it leaves empty, and what others have set stays.
func TestWhatAnUpdateLeaves(t *testing.T) {
	live := object(t, `{kind: A, metadata: {name: a}, spec: {a: text, m: {x: 1, w: 2}, l: [{a: 1}]}}`, map[string]string{
		ours: `{"f:spec": {"f:a": {}, "f:m": {"f:x": {}, "f:gone": {}}, "f:l": {"k:{\"a\":1}": {"f:a": {}}}}}`,
	})
	for want, after := range map[string]string{
		`{a: {b: c}, m: text, l: {}}`:                       `{a: {b: c}, m: text}`,
		`{a: text, l: [{a: 1}]}`:                            `{a: text, m: {w: 2}, l: [{a: 1}]}`,
		`{a: text, m: {x: 1}}`:                              `{a: text, m: {x: 1, w: 2}}`,
		`{a: text, m: {x: 1}, l: [{a: 2}]}`:                 `{a: text, m: {x: 1, w: 2}, l: [{a: 2}]}`,
		`{a: text, m: {x: 1}, l: [{a: 1}], o: {o: {p: q}}}`: `{a: text, m: {x: 1, w: 2}, l: [{a: 1}], o: {o: {p: q}}}`,
	} {
		c := Write("a", object(t, "spec: "+want, nil).Object, live, ours)
		if diff := cmp.Diff(object(t, "spec: "+after, nil).Object["spec"], c.After["spec"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want, diff)
		}
	}
}
