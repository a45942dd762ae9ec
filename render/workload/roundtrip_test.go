package workload_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/render/workload"
	"github.com/akash-net/kubectl-akash-net/test/workgen"
)

// The Manifest that is written says all that a lease runs: read again, it renders the same objects, with what the reservation
// chose and without being told. So a lease can be healed by its Manifest.
func TestTheManifestSaysAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def, params := workgen.Definition(t)
		cfg, opt := workgen.Config(t), workload.Options{Secrets: true, Unmarked: true}
		opt.Scheduler = params
		first, err := workload.Lease(def, cfg, opt)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(find(first, def.Lease.Namespace(), "Manifest"))
		if err != nil {
			t.Fatal(err)
		}
		var again *lease.Definition
		problems, err := input.Read(t.Context(), bytes.NewReader(text), "manifest.json", input.Options{Workloads: true}, func(d *lease.Definition) error {
			again = d
			return nil
		})
		if err != nil || problems.Failed() || again == nil {
			t.Fatalf("%v, %v: %s", err, problems, text)
		}
		opt.Scheduler = nil
		second, err := workload.Lease(again, cfg, opt)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(objectsText(t, first), objectsText(t, second)); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	})
}

// objectsText are the objects as JSON, by kind and name; without the hash of what they were read from.
func objectsText(t *rapid.T, all workload.Rendered) map[string]string {
	out := map[string]string{}
	for _, o := range all.Objects {
		m := as[map[string]any](t, o)
		delete(m["metadata"].(map[string]any), "annotations")
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		out[o.String()] = string(data)
	}
	return out
}

// Options leave out what they say and change nothing else: secrets their Secret and the Manifest's password, the hash its
// annotation.
func TestOptionsChangeNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def, params := workgen.Definition(t)
		cfg := workgen.Config(t)
		render := func(opt workload.Options) workload.Rendered {
			opt.Scheduler = params
			all, err := workload.Lease(def, cfg, opt)
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		all := render(workload.Options{Secrets: true})
		want, secrets := objectsText(t, all), 0
		for name, text := range objectsText(t, render(workload.Options{})) {
			if name == "manifest/"+def.Lease.Namespace() {
				continue
			}
			if text != want[name] {
				t.Errorf("without secrets, %s is %s", name, text)
			}
			delete(want, name)
		}
		delete(want, "manifest/"+def.Lease.Namespace())
		for _, w := range def.Workloads.Services {
			if w.Credentials != nil {
				secrets++
				delete(want, "secret/docker-creds-"+w.Name)
			}
		}
		if left := render(workload.Options{}).Left; len(want) > 0 || len(left) != secrets || len(all.Left) > 0 {
			t.Errorf("without secrets these are missing: %v; told are %v of %d", want, left, secrets)
		}
		for i, o := range render(workload.Options{Secrets: true, Unmarked: true}).Objects {
			annotations := as[map[string]any](t, o)["metadata"].(map[string]any)["annotations"]
			if (annotations != nil) != (o.Kind.Kind == "Manifest") {
				t.Errorf("unmarked, %s has the annotations %v", o, annotations)
			}
			before := as[map[string]any](t, all.Objects[i])["metadata"].(map[string]any)["annotations"]
			if (before != nil) != (o.Kind.Kind != "Namespace") {
				t.Errorf("marked, %s has the annotations %v", o, before)
			}
		}
	})
}
