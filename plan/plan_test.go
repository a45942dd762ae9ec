package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	ours   = "akash-net/akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/1/1"
	former = "akash-net/akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/2/1"
	rival  = "akash-net/akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn/1/1"
)

// object reads YAML; owners are the fields (fieldsV1, as YAML) that each manager has applied.
func object(t *testing.T, text string, owners map[string]string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	var entries []any
	for manager, fields := range owners {
		owned := map[string]any{}
		if err := yaml.Unmarshal([]byte(fields), &owned); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, map[string]any{"manager": manager, "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": owned})
	}
	if entries != nil {
		if err := unstructured.SetNestedSlice(u.Object, entries, "metadata", "managedFields"); err != nil {
			t.Fatal(err)
		}
	}
	return u
}

func TestFields(t *testing.T) {
	const live = `
kind: A
metadata: {name: a, annotations: {x: "1"}}
spec: {class: nginx, list: [{a: 1, defaulted: true}], left: 3}
`
	all := `{"f:metadata": {"f:annotations": {"f:x": {}}}, "f:spec": {"f:class": {}, "f:list": {}, "f:left": {}}}`
	tests := []struct {
		name   string
		want   string
		owners map[string]string
		fields []string
	}{
		{
			name:   "nothing changes; defaults do not count",
			want:   `{kind: A, metadata: {name: a, annotations: {x: "1"}}, spec: {class: nginx, list: [{a: 1}], left: 3}}`,
			owners: map[string]string{ours: all},
		},
		{
			name:   "a value changes",
			want:   `{metadata: {annotations: {x: "2"}}, spec: {class: nginx, list: [{a: 1}], left: 3}}`,
			owners: map[string]string{ours: all},
			fields: []string{"metadata.annotations.x: 1 -> 2"},
		},
		{
			name:   "a value comes anew",
			want:   `{metadata: {annotations: {x: "1", z: "2"}}, spec: {class: nginx, list: [{a: 1}], left: 3}}`,
			owners: map[string]string{ours: all},
			fields: []string{"metadata.annotations.z: <nil> -> 2"},
		},
		{
			name:   "what is no longer sent goes",
			want:   `{metadata: {annotations: {x: "1"}}, spec: {class: nginx, list: [{a: 1}]}}`,
			owners: map[string]string{ours: all},
			fields: []string{"spec.left: 3 -> <nil>"},
		},
		{
			name:   "what another owns too stays",
			want:   `{metadata: {annotations: {x: "1"}}, spec: {class: nginx, list: [{a: 1}]}}`,
			owners: map[string]string{ours: all, "kubectl": `{"f:spec": {"f:left": {}}}`},
		},
		{
			name:   "a list is one field",
			want:   `{metadata: {annotations: {x: "1"}}, spec: {class: nginx, list: [{a: 1}, {a: 2}], left: 3}}`,
			owners: map[string]string{ours: all},
			fields: []string{"spec.list: [map[a:1 defaulted:true]] -> [map[a:1] map[a:2]]"},
		},
		{
			name:   "another manager's value is a conflict",
			want:   `{spec: {class: traefik}}`,
			owners: map[string]string{"kubectl": `{"f:spec": {"f:class": {}}}`},
			fields: []string{"spec.class: nginx -> traefik conflict with kubectl"},
		},
		{
			name:   "another owner's value is a conflict",
			want:   `{spec: {class: traefik}}`,
			owners: map[string]string{rival: `{"f:spec": {"f:class": {}}}`},
			fields: []string{"spec.class: nginx -> traefik conflict with " + rival},
		},
		{
			name:   "that of another deployment of the owner is taken over",
			want:   `{spec: {class: traefik}}`,
			owners: map[string]string{former: `{"f:spec": {"f:class": {}}}`},
			fields: []string{"spec.class: nginx -> traefik"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			want := object(t, tt.want, nil)
			for _, f := range Fields(object(t, live, tt.owners), want.Object, ours) {
				text := f.Path.String() + ": " + fmt.Sprint(f.Before) + " -> " + fmt.Sprint(f.After)
				if f.Conflict {
					text += " conflict with " + f.Owners[0].Manager
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tt.fields, got); diff != "" {
				t.Error(diff)
			}
			c := Write("a", want.Object, object(t, live, tt.owners), ours)
			if !Contains(c.After, want.Object) {
				t.Errorf("the object would be %v, which does not have what is sent", c.After)
			}
			if diff := cmp.Diff(c.Before, c.After); (diff != "") != (tt.fields != nil) {
				t.Errorf("before and after, with %d fields that change: %s", len(tt.fields), diff)
			}
		})
	}
}

func TestWriteOfANewObject(t *testing.T) {
	want := object(t, `{kind: A, metadata: {name: a, namespace: ns}, status: {x: 1}, spec: {b: 1}}`, nil)
	c := Write("a", want.Object, nil, ours)
	if c.Action != Create || c.Name != "a" || c.Namespace != "ns" || c.Before != nil || c.After["status"] != nil || c.After["spec"] == nil {
		t.Errorf("change %+v", c)
	}
}

// Writes of controllers do not make a plan stale; a difference in what the plan changes does.
func TestSame(t *testing.T) {
	const live = `{kind: A, metadata: {name: a, uid: u1, resourceVersion: "1", annotations: {x: "1"}}, spec: {class: nginx}, status: {x: 1}}`
	want := `{kind: A, metadata: {name: a}, spec: {class: traefik}}`
	all := map[string]string{ours: `{"f:spec": {"f:class": {}}}`}
	for name, tt := range map[string]struct {
		now, want    string
		update, gone bool
	}{
		"nothing":          {live, want, true, true},
		"status":           {`{kind: A, metadata: {name: a, uid: u1, resourceVersion: "2", annotations: {x: "1", z: "2"}}, spec: {class: nginx}, status: {x: 2}}`, want, true, true},
		"the value itself": {`{kind: A, metadata: {name: a, uid: u1, resourceVersion: "2"}, spec: {class: other}}`, want, false, false},
		"another object":   {`{kind: A, metadata: {name: a, uid: u2, resourceVersion: "1"}, spec: {class: nginx}}`, want, false, false},
		"what is wanted":   {live, `{kind: A, metadata: {name: a}, spec: {class: haproxy}}`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			before, now := object(t, live, all), object(t, tt.now, all)
			if got := Write("a", object(t, want, nil).Object, before, ours).Same(Write("a", object(t, tt.want, nil).Object, now, ours)); got != tt.update {
				t.Errorf("the update is the same: %v", got)
			}
			if got := Remove("a", before, "").Same(Remove("a", now, "")); got != tt.gone {
				t.Errorf("the delete is the same: %v", got)
			}
		})
	}
}

// An object from a file without a UID matches the object of the cluster if that has all fields of the file; it may have
// more, because the API server and controllers add fields.
func TestSameOfFiles(t *testing.T) {
	const (
		inFile = `{kind: A, metadata: {name: a, labels: {l: "1"}}, spec: {class: nginx, ports: [{port: 80}], left: 3, theirs: 5}}`
		live   = `{kind: A, metadata: {name: a, uid: u1, resourceVersion: "1", labels: {l: "1"}, annotations: {x: "1"}}, spec: {class: nginx, ports: [{port: 80, nodePort: 3000}], left: 3, theirs: 5, defaulted: true}, status: {x: 1}}`
		wanted = `{kind: A, metadata: {name: a, labels: {l: "1"}}, spec: {class: traefik, ports: [{port: 81}]}}`
	)
	all := map[string]string{ours: `{"f:metadata": {"f:labels": {"f:l": {}}}, "f:spec": {"f:class": {}, "f:ports": {}, "f:left": {}}}`}
	theirs := map[string]string{"kubectl": all[ours]}
	for name, tt := range map[string]struct {
		now          string
		owners       map[string]string
		want         string
		update, gone bool
	}{
		"the same":                 {live, all, wanted, true, true},
		"a value that changes":     {strings.Replace(live, "nginx", "haproxy", 1), all, wanted, false, false},
		"a value that stays":       {strings.Replace(live, `l: "1"`, `l: "2"`, 1), all, wanted, false, false},
		"a list":                   {strings.Replace(live, "port: 80", "port: 82", 1), all, wanted, false, false},
		"a value that would go":    {strings.Replace(live, "left: 3", "left: 4", 1), all, wanted, false, false},
		"a value of somebody else": {strings.Replace(live, "theirs: 5", "theirs: 6", 1), all, wanted, false, false},
		"another manager has it":   {live, theirs, wanted, false, true},
		"something else is asked":  {live, all, strings.Replace(wanted, "81", "83", 1), false, true},
		"it is gone":               {"", nil, wanted, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			read := object(t, inFile, all)
			update, gone := Write("a", object(t, wanted, nil).Object, read, ours), Remove("a", read, "")
			update.Unpinned, gone.Unpinned = true, true
			var now *unstructured.Unstructured
			if tt.now != "" {
				now = object(t, tt.now, tt.owners)
				if removed := Remove("a", now, ""); gone.Same(removed) != tt.gone || removed.Same(gone) != tt.gone {
					t.Errorf("the delete is the same: %v", !tt.gone)
				}
			}
			written := Write("a", object(t, tt.want, nil).Object, now, ours)
			if update.Same(written) != tt.update || written.Same(update) != tt.update {
				t.Errorf("the update is the same: %v", !tt.update)
			}
		})
	}
	claim := Change{Action: Claim, Kind: "host", Name: "a", After: map[string]any{"/": "web:80"}}
	there, inAFile := claim, claim
	there.UID, inAFile.Unpinned = "u1", true
	if claim.Same(there) || claim.Same(inAFile) || !inAFile.Same(there) || !there.Same(inAFile) {
		t.Error("a claim that there was none of is taken for one that is known from a file, or from the cluster")
	}
}
