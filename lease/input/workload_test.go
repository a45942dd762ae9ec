package input_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

func readWorkloads(t *testing.T, text string, workloads bool) (*lease.Definition, lease.Problems) {
	t.Helper()
	var def *lease.Definition
	problems, err := input.Read(t.Context(), strings.NewReader(text), "", input.Options{Workloads: workloads}, func(d *lease.Definition) error {
		def = d
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return def, problems
}

func workloadText(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("testdata/workload.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestADefinitionSaysWhatItsServicesRun(t *testing.T) {
	def, problems := readWorkloads(t, workloadText(t), true)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := resources.Group{Name: "west", Units: []resources.Unit{
		{Count: 1, Resources: resources.Resources{
			ID: 7, CPU: 1000, Memory: 1 << 30, CPUAttributes: []resources.Attribute{{Key: "arch", Value: "arm64"}},
			Volumes: []resources.Volume{{Name: "data", Size: 10 << 30, Attributes: []resources.Attribute{{Key: "class", Value: "beta2"}, {Key: "persistent", Value: "true"}}}},
		}},
		{Count: 2, Resources: resources.Resources{
			ID: 2, CPU: 500, Memory: 512 << 20, GPU: resources.GPU{Units: 1, Attributes: []resources.Attribute{{Key: "vendor/amd/model/mi300", Value: "true"}}},
			Volumes: []resources.Volume{
				{Name: "default", Size: 1 << 30},
				{Name: "shm", Size: 64 << 20, Attributes: []resources.Attribute{{Key: "class", Value: "ram"}, {Key: "persistent", Value: "false"}}},
			},
			Endpoints: []resources.Endpoint{{Kind: resources.SharedHTTP}, {Kind: resources.RandomPort}, {Kind: resources.LeasedIP, Sequence: 1}},
		}},
	}}
	if diff := cmp.Diff(want, def.ResourceGroup()); diff != "" {
		t.Errorf("the group (-want +got):\n%s", diff)
	}
	if web := def.Workloads.Workload("web"); web == nil || web.Image != "nginx:1.27" || web.Credentials.Password != "hunter2" || !web.Params.Permissions.Has("logs") {
		t.Errorf("the workload is %+v", web)
	}
	if def.Workloads.Workload("we") != nil {
		t.Error("there is a workload without a name of its own")
	}
	ports := ""
	for _, p := range def.Ports("web") {
		ports += p.Peer + ":" + string(p.Protocol)
	}
	if ports != ":TCP:TCPdb:TCP" {
		t.Errorf("the order of ports is %s", ports)
	}
}

// Without workloads a definition is what it would be if it said nothing of them.
func TestWorkloadsAreReadOnRequest(t *testing.T) {
	def, _ := readWorkloads(t, workloadText(t), false)
	if def == nil || def.Workloads != nil || len(def.ResourceGroup().Units) > 0 {
		t.Fatalf("%+v", def)
	}
	text, err := json.Marshal(input.Encode(def))
	if err != nil || strings.Contains(string(text), "workload") || strings.Contains(string(text), "nginx") {
		t.Errorf("%s, %v", text, err)
	}
	with, _ := readWorkloads(t, workloadText(t), true)
	if with.Hash != def.Hash || lease.SumWhole(with) == lease.SumWhole(def) {
		t.Error("the hash is another with workloads, or what the lease runs makes no other sum of the whole")
	}
	if _, problems := readWorkloads(t, strings.ReplaceAll(workloadText(t), "image: postgres:16", "imagE: postgres"), false); !problems.Failed() {
		t.Error("an unknown key is accepted where workloads are not asked for")
	}
}

// Passwords are written on request alone, and what is written without them is read again.
func TestPasswordsAreWrittenOnRequest(t *testing.T) {
	def, _ := readWorkloads(t, workloadText(t), true)
	for _, c := range []struct {
		doc      *input.Document
		password string
	}{{input.Encode(def), ""}, {input.EncodeSecrets(def), "hunter2"}} {
		text, err := json.Marshal(c.doc)
		if err != nil {
			t.Fatal(err)
		}
		again, problems := readWorkloads(t, string(text), true)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if got := again.Workloads.Workload("web").Credentials.Password; got != c.password {
			t.Errorf("the password is %q, want %q", got, c.password)
		}
		if again.Hash != def.Hash {
			t.Error("the hash changes")
		}
	}
}

// Units that no format has numbered, and endpoints, get numbers of their own.
func TestSharedUnits(t *testing.T) {
	text := strings.Replace(workloadText(t), "image: nginx:1.27", "image: nginx:1.27\n      count: 1", 1)
	if _, problems := readWorkloads(t, text, true); !strings.Contains(problems.Error(), "given twice") {
		t.Error(problems)
	}
	def := &lease.Definition{Workloads: &lease.Workloads{Services: []lease.Workload{
		{Name: "a", Count: 2, Resources: resources.Resources{ID: 1, CPU: 100}},
		{Name: "b", Count: 3, Resources: resources.Resources{ID: 1, CPU: 100}},
	}}, Services: []lease.Service{
		{Name: "a", Expose: []lease.Expose{{Port: 53, Protocol: lease.UDP, Global: true, IP: "x", Sequence: 2}}},
		{Name: "b", Expose: []lease.Expose{{Port: 80, Protocol: lease.TCP, Global: true}}},
	}}
	want := []resources.Unit{{Count: 5, Resources: resources.Resources{ID: 1, CPU: 100, Endpoints: []resources.Endpoint{
		{Kind: resources.RandomPort}, {Kind: resources.SharedHTTP}, {Kind: resources.LeasedIP, Sequence: 2},
	}}}}
	if diff := cmp.Diff(want, def.ResourceGroup().Units); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
