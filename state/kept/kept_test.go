package kept_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

const (
	owner    = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	provider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
)

var shop = lease.ID{Owner: owner, DSeq: 8438017, GSeq: 1, OSeq: 1, Provider: provider}

// definition returns the definition in a document with the services.
func definition(t *testing.T, services string) *lease.Definition {
	t.Helper()
	document := fmt.Sprintf(`{"apiVersion":"net.akash.network/v1alpha1","kind":"LeaseDefinition","metadata":{"name":"shop"},
		"spec":{"lease":{"owner":%q,"dseq":8438017,"gseq":1,"oseq":1,"provider":%q},"services":%s,"ipEndpoints":[{"name":"public","addresses":["203.0.113.7"]}]}}`, owner, provider, services)
	def, problems := input.DefinitionObject("shop.yaml", []byte(document))
	if len(problems.Errors()) > 0 {
		t.Fatal(problems)
	}
	return def
}

func hosts(n int) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf(`"h%d.shop.example.com"`, i))
	}
	return strings.Join(names, ",")
}

// stored returns a definition as the ledger has it.
func stored(t *testing.T, def *lease.Definition) *metav1.ObjectMeta {
	t.Helper()
	d, err := kept.New(def, "RUN")
	if err != nil {
		t.Fatal(err)
	}
	ac := d.Configuration("akash-net", def.Lease.Group(), nil)
	return &metav1.ObjectMeta{Name: *ac.Name, Labels: ac.Labels, Annotations: ac.Annotations, UID: "uid", ResourceVersion: "7"}
}

// A kept definition is read as it was written, short or long, with everything a definition can contain.
func TestRoundTrip(t *testing.T) {
	full := `[{"name":"web","target":"httproute","expose":[{"port":8080,"as":80,"global":true,"hosts":["shop.example.com"],"path":"/api","http":{"maxBodySize":5,"readTimeout":"30s","nextCases":["500"]},
		"tls":{"termination":"edge","insecure":"Redirect","secretName":"cert"},"weight":3,"alternateBackends":[{"service":"blue","port":80,"weight":2}],
		"headers":{"request":[{"name":"X-Shop","action":"Set","value":"a \"b\" <c>"}]},"labels":{"team":"a"}},{"port":443,"protocol":"UDP","global":true,"ip":"public"}]},{"name":"blue","expose":[{"port":80}]}]`
	for name, services := range map[string]string{"full": full, "long": `[{"name":"web","expose":[{"port":80,"global":true,"hosts":[` + hosts(2000) + `]},{"port":1,"global":true,"ip":"public"}]}]`} {
		t.Run(name, func(t *testing.T) {
			def := definition(t, services)
			meta := stored(t, def)
			if text := meta.Annotations[kept.AnnotationText]; (name == "long") == strings.HasPrefix(text, "{") || len(text) > 40<<10 {
				t.Errorf("%d bytes are kept, which begin with %.20s", len(text), text)
			}
			d, ok := kept.Read(meta)
			if !ok || d.Name != kept.Name(shop.Group()) || d.Run != "RUN" {
				t.Fatalf("read %+v, %v", d, ok)
			}
			got, err := d.Decode()
			if err != nil {
				t.Fatal(err)
			}
			if written(t, got) != written(t, def) || got.Hash != def.Hash || got.Hash != meta.Annotations[lease.AnnotationDefinition] {
				t.Errorf("read %+v\nwant %+v", got, def)
			}
			if !d.Says(def) {
				t.Error("it does not say what was kept")
			}
		})
	}
}

func written(t *testing.T, def *lease.Definition) string {
	t.Helper()
	text, err := json.Marshal(input.Encode(def))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func packed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// The object may contain anything that another client has written.
func TestHostileDefinitions(t *testing.T) {
	def := definition(t, `[{"name":"web","expose":[{"port":80,"global":true,"hosts":["a.example.com"]},{"port":1,"global":true,"ip":"public"}]}]`)
	text := stored(t, def).Annotations[kept.AnnotationText]
	tests := map[string]struct {
		key, value, says string
	}{
		"nothing":            {kept.AnnotationText, "", "gzip"},
		"no JSON":            {kept.AnnotationText, "{", "not valid JSON"},
		"no base64":          {kept.AnnotationText, "%", "neither JSON nor base64"},
		"no gzip":            {kept.AnnotationText, base64.StdEncoding.EncodeToString([]byte("no gzip")), "gzip"},
		"a bomb":             {kept.AnnotationText, packed(strings.Repeat(" ", 64<<20)), "bytes where"},
		"another kind":       {kept.AnnotationText, `{"apiVersion":"v1","kind":"Secret"}`, "it is not a LeaseDefinition"},
		"an SDL":             {kept.AnnotationText, `{"version":"2.0","services":{}}`, "it is not a LeaseDefinition"},
		"an unknown key":     {kept.AnnotationText, strings.Replace(text, `"spec":{`, `"spec":{"more":1,`, 1), "more"},
		"a key twice":        {kept.AnnotationText, strings.Replace(text, `"spec":{`, `"spec":{"services":[],`, 1), "services"},
		"another lease":      {kept.AnnotationText, strings.Replace(text, `"dseq":8438017`, `"dseq":8438018`, 1), "whose definition has another name"},
		"another host":       {kept.AnnotationText, strings.Replace(text, "a.example.com", "b.example.com", 1), "is not the hash of the definition"},
		"a host that is not": {kept.AnnotationText, strings.Replace(text, "a.example.com", "-", 1), "leases/" + kept.Name(shop.Group())},
		"two documents":      {kept.AnnotationText, text + "\n---\n" + text, "is not one JSON object"},
		"another hash":       {lease.AnnotationDefinition, "x", "is not the hash of the definition"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			meta := stored(t, def)
			meta.Annotations[tt.key] = tt.value
			d, ok := kept.Read(meta)
			if !ok {
				t.Fatal("it is not read")
			}
			if got, err := d.Decode(); err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "leases/df--") {
				t.Errorf("got %+v and the error %v, want one that says %q", got, err, tt.says)
			}
			if d.Says(def) {
				t.Error("it counts as kept")
			}
		})
	}
}

// The environments and registry passwords of an SDL are not in its definition.
func TestNoSecrets(t *testing.T) {
	sdl := `{"version":"2.0","services":{"web":{"image":"nginx","env":["PASSWORD=hunter2"],"args":["--token=hunter2"],
		"credentials":{"host":"docker.io","username":"u","password":"hunter2"},"expose":[{"port":80,"accept":["shop.example.com"],"to":[{"global":true}]}]}},
		"profiles":{"compute":{"web":{"resources":{"cpu":{"units":1},"memory":{"size":"1Gi"},"storage":{"size":"1Gi"}}}},"placement":{"dc":{"pricing":{"web":{"denom":"uakt","amount":1}}}}},
		"deployment":{"web":{"dc":{"profile":"web","count":1}}}}`
	var def *lease.Definition
	problems, err := input.Read(t.Context(), strings.NewReader(sdl), "deploy.yaml", input.Options{Lease: &shop}, func(d *lease.Definition) error {
		def = d
		return nil
	})
	if err != nil || def == nil {
		t.Fatal(err, problems)
	}
	for key, value := range stored(t, def).Annotations {
		if strings.Contains(value, "hunter2") {
			t.Errorf("%s: %s", key, value)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"apiVersion":"net.akash.network/v1alpha1","kind":"LeaseDefinition"}`)
	f.Add(packed(`{"kind":"LeaseDefinition"}`))
	f.Fuzz(func(t *testing.T, text string) {
		d, _ := kept.Read(&metav1.ObjectMeta{Name: kept.Name(shop.Group()), Annotations: map[string]string{kept.AnnotationText: text}})
		if def, err := d.Decode(); err == nil {
			t.Errorf("%q without its hash is %+v", text, def)
		}
	})
}

func TestIsVersion(t *testing.T) {
	d := func(uid, version string) *kept.Definition {
		return &kept.Definition{UID: types.UID(uid), ResourceVersion: version}
	}
	for name, c := range map[string]struct {
		a, b *kept.Definition
		want bool
	}{
		"none twice": {nil, nil, true}, "gone": {nil, d("u", "1"), false}, "made": {d("u", "1"), nil, false},
		"the same": {d("u", "1"), d("u", "1"), true}, "written": {d("u", "1"), d("u", "2"), false}, "made anew": {d("u", "1"), d("v", "1"), false},
	} {
		if got := c.a.IsVersion(c.b); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
