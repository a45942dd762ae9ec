// Package same compares the API server in memory (package sim) with the real one: the same requests get the
// same answers.
package same

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/test/sim"
)

var plane *testbed.ControlPlane

func TestMain(m *testing.M) {
	os.Exit(testbed.Main(m, testbed.Join, func(_ context.Context, p *testbed.ControlPlane) error {
		plane = p
		_, err := envtest.InstallCRDs(p.Config, envtest.CRDInstallOptions{Paths: []string{"../../../manifests/crds"}, ErrorIfPathMissing: true})
		return err
	}))
}

// requests is how many a sequence has.
const requests = 16

// sequences is how many are compared: with LONG more.
func sequences() int64 {
	if os.Getenv("LONG") != "" {
		return 5000
	}
	return 300
}

// The server in memory answers random requests as the real one does: status, reason, causes and objects.
func TestSameAnswers(t *testing.T) {
	transport, err := rest.TransportFor(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	group := parallel.New(8)
	for seed := range sequences() {
		group.Go(func() error {
			simulated, err := sim.New()
			if err != nil {
				return err
			}
			authority, memory := newSide(strings.TrimSuffix(plane.Config.Host, "/"), transport), newSide("http://sim", simulated)
			d := &drawing{Rand: rand.New(rand.NewSource(seed)), namespace: fmt.Sprintf("sim-%d", seed)}
			steps := []step{{method: http.MethodPost, path: "/api/v1/namespaces", accept: "application/json", body: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": d.namespace}}}}
			for range requests {
				steps = append(steps, d.step())
			}
			for i, s := range steps {
				want, err := authority.do(t.Context(), s)
				if err != nil {
					return err
				}
				got, err := memory.do(t.Context(), s)
				if err != nil {
					return err
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("sequence %d, request %d, %s (-real +in memory):\n%s", seed, i, s, diff)
					return nil
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// side is one of the two servers, with what it has answered.
type side struct {
	host      string
	transport http.RoundTripper
	seen      map[string][]string // UIDs and versions, by path
	names     map[string]string
	counts    map[string]int
	tokens    map[string]string // to go on with a list, by path
}

func newSide(host string, transport http.RoundTripper) *side {
	return &side{host: host, transport: transport, seen: map[string][]string{}, names: map[string]string{}, counts: map[string]int{}, tokens: map[string]string{}}
}

// pinned is the value that a pin stands for; ok is false where there is none.
func (x *side) pinned(p pin, of string) (string, bool) {
	seen := x.seen[of]
	switch {
	case p == wrong && strings.HasPrefix(of, "uid"):
		return "99999999-0000-4000-8000-000000000000", true
	case p == wrong:
		return "1", true
	case p == current && len(seen) > 0:
		return seen[len(seen)-1], true
	case p == former && len(seen) > 1:
		return seen[len(seen)-2], true
	}
	return "", false
}

func (x *side) do(ctx context.Context, s step) (any, error) {
	var body any = s.body
	if s.patch != nil {
		body = s.patch
	}
	pins := map[string]any{}
	if uid, ok := x.pinned(s.uid, "uid "+s.path); ok {
		pins["uid"] = uid
	}
	if version, ok := x.pinned(s.version, "version "+s.path); ok {
		pins["resourceVersion"] = version
	}
	if len(pins) > 0 {
		whole := map[string]any{}
		for k, v := range s.body {
			whole[k] = v
		}
		if s.method == http.MethodDelete {
			whole["preconditions"] = pins
		} else {
			for k, v := range s.body["metadata"].(map[string]any) {
				pins[k] = v
			}
			whole["metadata"] = pins
		}
		body = whole
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	query := s.query
	if query == "limit=1" && x.tokens[s.path] != "" {
		query += "&continue=" + x.tokens[s.path]
	}
	request, err := http.NewRequestWithContext(ctx, s.method, x.host+s.path+"?"+query, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", s.content)
	request.Header.Set("Accept", s.accept)
	request.Header.Set("User-Agent", "same/1")
	response, err := x.transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	if text, err = io.ReadAll(response.Body); err != nil {
		return nil, err
	}
	return x.read(s, response.StatusCode, text)
}

var (
	uuids    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	versions = regexp.MustCompile(`("resourceVersion":"|ResourceVersion in (?:the )?(?:precondition|record) \()(\d+)`)
	times    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
)

// read is an answer without what differs from one server to the other.
func (x *side) read(s step, code int, text []byte) (any, error) {
	var answer map[string]any
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("%s: %d %s: %w", s, code, text, err)
	}
	meta, _ := answer["metadata"].(map[string]any)
	if _, isList := answer["items"]; isList {
		items, _ := answer["items"].([]any) // metadata of none has none
		answer["items"] = append([]any{}, items...)
		token, _ := meta["continue"].(string)
		if s.query == "limit=1" {
			x.tokens[s.path] = token
		}
		delete(meta, "resourceVersion")
		meta["continue"] = token != ""
		for _, o := range items {
			strip(o.(map[string]any))
		}
	} else if uid, ok := meta["uid"].(string); ok && !strings.Contains(s.query, "dryRun") && s.body["dryRun"] == nil {
		path := s.path
		if s.method == http.MethodPost {
			path += "/" + meta["name"].(string)
		}
		x.note("uid "+path, uid)
		x.note("version "+path, meta["resourceVersion"].(string))
	}
	strip(answer)
	plain, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	out := uuids.ReplaceAllStringFunc(string(plain), func(uid string) string { return x.name("uid", uid) })
	out = versions.ReplaceAllStringFunc(out, func(m string) string {
		parts := versions.FindStringSubmatch(m)
		if strings.Contains(s.query, "dryRun") {
			return parts[1] + "dry"
		}
		return parts[1] + x.name("version", parts[2])
	})
	var same any
	err = json.Unmarshal([]byte(times.ReplaceAllString(out, "T")), &same)
	return []any{code, same}, err
}

func (x *side) note(of, value string) {
	if seen := x.seen[of]; len(seen) == 0 || seen[len(seen)-1] != value {
		x.seen[of] = append(seen, value)
	}
}

func (x *side) name(of, value string) string {
	if x.names[value] == "" {
		x.counts[of]++
		x.names[value] = fmt.Sprintf("%s-%d", of, x.counts[of])
	}
	return x.names[value]
}

// strip sorts what has no order that counts, and takes out of a Service what allocators have given it.
func strip(o map[string]any) {
	meta, _ := o["metadata"].(map[string]any)
	details, _ := o["details"].(map[string]any)
	byText(meta["managedFields"], "manager", "operation")
	byText(details["causes"], "field", "message")
	drop(o["spec"], "")
	entries, _ := meta["managedFields"].([]any)
	for _, e := range entries {
		fields, _ := e.(map[string]any)["fieldsV1"].(map[string]any)
		drop(fields["f:spec"], "f:")
	}
}

func drop(spec any, prefix string) {
	fields, _ := spec.(map[string]any)
	for _, of := range []string{"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"} {
		delete(fields, prefix+of)
	}
	list, _ := fields["ports"].([]any)
	byKey, _ := fields["f:ports"].(map[string]any)
	for _, port := range slices.AppendSeq(list, maps.Values(byKey)) {
		delete(port.(map[string]any), prefix+"nodePort")
	}
}

func byText(list any, keys ...string) {
	entries, _ := list.([]any)
	text := func(e any) (out string) {
		for _, key := range keys {
			out += fmt.Sprint(e.(map[string]any)[key], " ")
		}
		return out
	}
	slices.SortFunc(entries, func(a, b any) int { return strings.Compare(text(a), text(b)) })
}
