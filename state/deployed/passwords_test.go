package deployed

import (
	"encoding/base64"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

func secretOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	return object(t, `{kind: Secret, data: {".dockerconfigjson": "`+base64.StdEncoding.EncodeToString([]byte(text))+`"}}`)
}

// A missing password is taken from the Secret if registry and user are the same.
func TestWithPasswords(t *testing.T) {
	good := `{"auths": {"registry.example.com": {"username": "shop", "password": "there", "auth": "x"}}}`
	for name, tt := range map[string]struct {
		written string
		secret  *unstructured.Unstructured
		want    string
		there   bool
	}{
		"it is written":        {"own", secretOf(t, good), "own", false},
		"the Secret has it":    {"", secretOf(t, good), "there", false},
		"there is no Secret":   {"", nil, "", false},
		"another registry":     {"", secretOf(t, `{"auths": {"docker.io": {"username": "shop", "password": "there"}}}`), "", true},
		"another user":         {"", secretOf(t, `{"auths": {"registry.example.com": {"username": "x", "password": "there"}}}`), "", true},
		"an empty password":    {"", secretOf(t, `{"auths": {"registry.example.com": {"username": "shop"}}}`), "", true},
		"no JSON":              {"", secretOf(t, `{`), "", true},
		"other JSON":           {"", secretOf(t, `{"auths": []}`), "", true},
		"no base64":            {"", object(t, `{kind: Secret, data: {".dockerconfigjson": "%"}}`), "", true},
		"another type of text": {"", object(t, `{kind: Secret, data: {".dockerconfigjson": {a: b}}}`), "", true},
		"no data":              {"", object(t, `{kind: Secret}`), "", true},
	} {
		t.Run(name, func(t *testing.T) {
			at := lease.Place{File: "a.yaml", Line: 7, Column: 3}
			def := &lease.Definition{Hash: "h", Workloads: &lease.Workloads{Services: []lease.Workload{
				{Name: "open"}, {Name: "web", Credentials: &lease.Credentials{Host: "registry.example.com", Username: " shop ", Password: tt.written, At: at}},
			}}}
			out, lacking := WithPasswords(def, func(name string) *unstructured.Unstructured {
				if name != "docker-creds-web" {
					t.Errorf("asked for %q", name)
				}
				return tt.secret
			})
			if got := out.Workloads.Services[1].Credentials.Password; got != tt.want {
				t.Errorf("password %q", got)
			}
			if def.Workloads.Services[1].Credentials.Password != tt.written {
				t.Error("the definition that was given has changed")
			}
			var want []Lacking
			if tt.want == "" {
				want = []Lacking{{Service: "web", Secret: "docker-creds-web", There: tt.there, At: at}}
			}
			if diff := cmp.Diff(want, lacking); diff != "" {
				t.Errorf("lacking (-want +got):\n%s", diff)
			}
		})
	}
}

// The choice of an earlier reservation counts while the unit asks for the same GPUs.
func TestScheduled(t *testing.T) {
	gpu := func(units uint64, model string) resources.Resources {
		return resources.Resources{ID: 1, GPU: resources.GPU{Units: units, Attributes: []resources.Attribute{{Key: "vendor/nvidia/model/" + model, Value: "true"}}}}
	}
	chosen := &lease.SchedulerParams{RuntimeClass: "nvidia", Resources: &lease.SchedulerResources{GPU: &lease.SchedulerGPU{Vendor: "nvidia", Model: "a100"}}}
	runs := func(workloads ...lease.Workload) *lease.Definition {
		return &lease.Definition{Workloads: &lease.Workloads{Services: workloads}}
	}
	renumbered := gpu(1, "a100")
	renumbered.ID = 2
	for name, tt := range map[string]struct {
		def, before *lease.Definition
		want        map[uint32]*lease.SchedulerParams
	}{
		"no Manifest":        {runs(lease.Workload{Resources: gpu(1, "a100")}), nil, nil},
		"one without runs":   {runs(lease.Workload{Resources: gpu(1, "a100")}), &lease.Definition{}, nil},
		"the same":           {runs(lease.Workload{Name: "new", Resources: gpu(1, "a100")}), runs(lease.Workload{Name: "old", Resources: gpu(1, "a100"), Scheduler: chosen}), map[uint32]*lease.SchedulerParams{1: chosen}},
		"nothing was chosen": {runs(lease.Workload{Resources: gpu(1, "a100")}), runs(lease.Workload{Resources: gpu(1, "a100")}), nil},
		"more cards":         {runs(lease.Workload{Resources: gpu(2, "a100")}), runs(lease.Workload{Resources: gpu(1, "a100"), Scheduler: chosen}), nil},
		"other cards":        {runs(lease.Workload{Resources: gpu(1, "h100")}), runs(lease.Workload{Resources: gpu(1, "a100"), Scheduler: chosen}), nil},
		"another unit":       {runs(lease.Workload{Resources: renumbered}), runs(lease.Workload{Resources: gpu(1, "a100"), Scheduler: chosen}), nil},
	} {
		got := Scheduled(tt.def, tt.before)
		if len(got) != len(tt.want) || len(got) > 0 && got[1] != tt.want[1] {
			t.Errorf("%s: %v", name, got)
		}
	}
}
