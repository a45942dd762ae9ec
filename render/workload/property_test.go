package workload_test

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	rules "github.com/akash-net/kubectl-akash-net/lease/workload"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/render/workload"
	"github.com/akash-net/kubectl-akash-net/test/workgen"
)

// Whatever lease passes the rules is rendered: the same each time, with good names, each once, and with nothing of
// Akash's that names no lease.
func TestGeneratedLeases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def, params := workgen.Definition(t)
		if problems := append(lease.Check(def), rules.Check(def)...); problems.Failed() {
			t.Fatal(problems)
		}
		cfg, opt := workgen.Config(t), workload.Options{Scheduler: params, Secrets: rapid.Bool().Draw(t, "secrets")}
		first, err := workload.Lease(def, cfg, opt)
		if err != nil {
			t.Fatal(err)
		}
		if err := render.CheckNames(first.Objects, def.At); err != nil {
			t.Fatal(err)
		}
		for _, o := range first.Objects {
			if problems := validation.IsDNS1123Subdomain(o.Name); len(problems) > 0 {
				t.Errorf("%s: %v", o, problems)
			}
		}
		again, err := workload.Lease(def, cfg, opt)
		if err != nil {
			t.Fatal(err)
		}
		a, b := encode(t, first), encode(t, again)
		if a != b {
			t.Errorf("rendered twice it differs:\n%s\n%s", a, b)
		}
		if !opt.Secrets && strings.Contains(a, workgen.Password) {
			t.Errorf("a password is printed:\n%s", a)
		}
		opt.Unique = true
		unique, err := workload.Lease(def, cfg, opt)
		if err != nil {
			t.Fatal(err)
		}
		if len(encode(t, unique)) > len(a) {
			t.Error("without what is repeated it is longer")
		}
	})
}

func encode(t *rapid.T, r workload.Rendered) string {
	data, err := json.Marshal(r.Objects)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
