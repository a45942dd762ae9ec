package workload_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
	"github.com/akash-net/kubectl-akash-net/render/workload"
	"github.com/akash-net/kubectl-akash-net/test/workgen"
)

// one is a lease of one service.
func one() sample {
	return sample{
		cfg: config.Default(),
		def: &lease.Definition{
			Lease: workgen.Lease, Services: []lease.Service{{Name: "web"}},
			Workloads: &lease.Workloads{Group: "west", Services: []lease.Workload{{
				Name: "web", Image: "nginx", Count: 1,
				Resources: resources.Resources{ID: 1, CPU: 1000, Memory: 1 << 30, Volumes: []resources.Volume{{Name: "default", Size: 1 << 30}}},
			}}},
		},
	}
}

func (s sample) web() *lease.Workload { return &s.def.Workloads.Services[0] }

func (s sample) expose(ports ...lease.Expose) { s.def.Services[0].Expose = ports }

// objects are the rendered objects by kind and name.
func (s sample) objects(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	rendered, err := workload.Lease(s.def, s.cfg, s.opt)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*unstructured.Unstructured{}
	for _, o := range rendered.Objects {
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(data); err != nil {
			t.Fatal(err)
		}
		if u.GetKind() != o.Kind.Kind || u.GetName() != o.Name || u.GetNamespace() != o.Namespace {
			t.Errorf("%s is rendered as %s %s/%s", o, u.GetKind(), u.GetNamespace(), u.GetName())
		}
		out[o.String()] = u
	}
	return out
}

// field is a field of an object as JSON; "" where there is none. A number is an index.
func field(t *testing.T, o *unstructured.Unstructured, path string) string {
	t.Helper()
	if o == nil {
		return "no object"
	}
	var value any = o.Object
	for step := range strings.SplitSeq(path, "/") {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			if i := int(step[0] - '0'); i < len(v) {
				value = v[i]
			} else {
				value = nil
			}
		default:
			value = nil
		}
	}
	if value == nil {
		return ""
	}
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const (
	pod       = "spec/template/spec/"
	container = pod + "containers/0/"
	amounts   = container + "resources/"
	terms     = pod + "affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions/"
)

// Each case changes the one service, or the configuration, and says what a field then is; the golden files show the others.
func TestRules(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *sample)
		object string
		want   map[string]string
	}{
		"levels below one": {func(s *sample) { s.cfg.CommitLevels = config.CommitLevels{CPU: 0.5} }, "deployment/web", map[string]string{
			amounts + "requests/cpu": `"1"`,
		}},
		"a GPU": {func(s *sample) {
			s.web().Resources.GPU.Units = 2
			s.opt.Scheduler = map[uint32]*lease.SchedulerParams{1: {RuntimeClass: "nvidia", Resources: &lease.SchedulerResources{GPU: &lease.SchedulerGPU{Vendor: "nvidia", Model: "a100"}}}}
			s.cfg.CommitLevels.GPU = 2
		}, "deployment/web", map[string]string{
			amounts + "limits":   `{"cpu":"1","ephemeral-storage":"1073741824","memory":"1073741824","nvidia.com/gpu":"2"}`,
			amounts + "requests": `{"cpu":"1","ephemeral-storage":"1073741824","memory":"1073741824","nvidia.com/gpu":"1"}`,
			terms + "1":          `{"key":"akash.network/capabilities.gpu.vendor.nvidia.model.a100","operator":"Gt","values":["0"]}`, pod + "runtimeClassName": `"nvidia"`,
		}},
		"a GPU of AMD, as the Manifest has it": {func(s *sample) {
			s.web().Resources.GPU.Units = 1
			s.web().Scheduler = &lease.SchedulerParams{RuntimeClass: "none", Resources: &lease.SchedulerResources{GPU: &lease.SchedulerGPU{Vendor: "amd", Model: "mi300", MemorySize: "192Gi"}}}
		}, "deployment/web", map[string]string{
			terms + "1/key": `"akash.network/capabilities.gpu.vendor.amd.model.mi300"`, terms + "2/key": `"akash.network/capabilities.gpu.vendor.amd.model.mi300.ram.192Gi"`,
			pod + "runtimeClassName": "",
		}},
		"what a reservation chose outweighs the Manifest": {func(s *sample) {
			s.web().Scheduler = &lease.SchedulerParams{RuntimeClass: "old"}
			s.opt.Scheduler = map[uint32]*lease.SchedulerParams{1: nil}
		}, "deployment/web", map[string]string{pod + "runtimeClassName": "", terms + "1": ""}},
		"env, each name once": {func(s *sample) {
			s.web().Env = []string{"A=b", "B=c", "A=d"}
			s.opt.Unique = true
		}, "deployment/web", map[string]string{
			container + "env/0": `{"name":"B","value":"c"}`, container + "env/1": `{"name":"A","value":"d"}`, container + "env/2/name": `"AKASH_GROUP_SEQUENCE"`,
		}},
		"ports of the container, each once": {func(s *sample) {
			s.expose(lease.Expose{Port: 53, Protocol: lease.UDP, Global: true}, lease.Expose{Port: 53, Protocol: lease.TCP, Global: true})
			s.opt.Unique = true
		}, "deployment/web", map[string]string{container + "ports": `[{"containerPort":53}]`}},
		"a port that is routed over TLS": {func(s *sample) {
			s.expose(lease.Expose{Port: 8443, Protocol: lease.TCP, Global: true, Routing: &lease.Routing{TLS: &lease.TLS{Termination: lease.Passthrough}}})
		}, "service/web", map[string]string{"spec/ports/0/port": "8443"}},
		"permissions": {func(s *sample) {
			s.web().Params = &lease.Params{Permissions: &lease.Permissions{Read: []string{"events", "secrets", "events"}}}
		}, "role/web", map[string]string{"rules": `[{"apiGroups":[""],"resources":["events"],"verbs":["get","list","watch"]}]`}},
		"no API servers": {func(s *sample) {
			s.web().Params = &lease.Params{Permissions: &lease.Permissions{Read: []string{"logs"}}}
		}, "networkpolicy/akash-apiserver-web", map[string]string{"spec": "no object"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := one()
			c.change(&s)
			object := s.objects(t)[c.object]
			for path, want := range c.want {
				if got := field(t, object, path); got != want {
					t.Errorf("%s of %s is %s, want %s", path, c.object, got, want)
				}
			}
		})
	}
}

// What a definition or a configuration leaves out is left out of the objects, and is no empty field.
func TestWhatIsLeftOut(t *testing.T) {
	const policy = "networkpolicy/akash-deployment-restrictions"
	for name, c := range map[string]struct {
		change       func(s *sample)
		object, path string
		want         string
	}{
		"no hash":                       {func(s *sample) { s.def.Hash = "" }, "deployment/web", "metadata/annotations", ""},
		"no hash, of the Manifest":      {func(s *sample) { s.def.Hash = "" }, "manifest/" + one().def.Lease.Namespace(), "metadata/annotations", ""},
		"a Gateway without a namespace": {func(s *sample) { s.cfg.Target, s.cfg.Gateway.Namespace = config.TargetHTTPRoute, "" }, policy, "spec/ingress/2", ""},
		"a Gateway, and no route to it": {func(s *sample) { s.cfg.Gateway.Namespace = "gw" }, policy, "spec/ingress/2", ""},
		"empty arguments":               {func(s *sample) { s.web().Args = []string{"", ""} }, "deployment/web", container + "args", `["",""]`},
		"a huge level":                  {func(s *sample) { s.cfg.CommitLevels.Memory, s.cfg.CommitLevels.Storage = 1e300, 1e300 }, "deployment/web", amounts + "requests", `{"cpu":"1","ephemeral-storage":"1","memory":"1"}`},
		"cards without a wish for any": {func(s *sample) {
			s.web().Scheduler = &lease.SchedulerParams{Resources: &lease.SchedulerResources{GPU: &lease.SchedulerGPU{Vendor: "nvidia", Model: "t4"}}}
		}, "deployment/web", amounts + "limits", `{"cpu":"1","ephemeral-storage":"1073741824","memory":"1073741824"}`},
	} {
		s := one()
		s.def.Hash = "h"
		c.change(&s)
		if got := field(t, s.objects(t)[c.object], c.path); got != c.want {
			t.Errorf("%s: %s of %s is %s, want %s", name, c.path, c.object, got, c.want)
		}
	}
}

// A change of the definition that touches no pod changes no pod template, so it restarts nothing.
func TestWhatTouchesNoPodRollsNoPod(t *testing.T) {
	before, after := one(), one()
	before.def.Hash, after.def.Hash = "a", "b"
	after.def.Workloads.Group = "east"
	after.web().Count = 5
	a, b := before.objects(t)["deployment/web"], after.objects(t)["deployment/web"]
	if field(t, a, "spec/template") != field(t, b, "spec/template") {
		t.Error("the pod template changes")
	}
	if field(t, a, "metadata/annotations") == field(t, b, "metadata/annotations") {
		t.Error("the hash of the definition is on no object")
	}
}

func TestSecretsAreRenderedOnRequest(t *testing.T) {
	s := one()
	s.web().Credentials = &lease.Credentials{Host: "ghcr.io", Username: "bob", Password: "hunter2"}
	for _, c := range []struct {
		name, password string
		secrets        bool
		left           []workload.LeftSecret
	}{
		{"not asked for", "hunter2", false, []workload.LeftSecret{{Name: "docker-creds-web"}}},
		{"asked for", "hunter2", true, nil},
		{"asked for, and not there", "", true, []workload.LeftSecret{{Name: "docker-creds-web", NoPassword: true}}},
	} {
		s.web().Credentials.Password, s.opt.Secrets = c.password, c.secrets
		rendered, err := workload.Lease(s.def, s.cfg, s.opt)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(rendered.Objects)
		if err != nil {
			t.Fatal(err)
		}
		// aHVudGVyM is the beginning of the password in base64, Ym9iOmh1bnRlcjI that of user and password.
		shown := strings.Contains(string(text), "hunter2") && s.objects(t)["secret/docker-creds-web"] != nil
		hidden := !strings.Contains(string(text), "hunter2") && !strings.Contains(string(text), "Ym9iOmh1bnRlcjI") && s.objects(t)["secret/docker-creds-web"] == nil
		if want := c.left == nil; shown != want || hidden == want {
			t.Errorf("%s: shown %v, hidden %v: %s", c.name, shown, hidden, text)
		}
		if !slices.Equal(rendered.Left, c.left) {
			t.Errorf("%s: left out are %+v, want %+v", c.name, rendered.Left, c.left)
		}
	}
}

func TestWhatCannotBeRendered(t *testing.T) {
	gpu := func(s *sample, g lease.SchedulerGPU) {
		s.web().Resources.GPU.Units = 1
		s.opt.Scheduler = map[uint32]*lease.SchedulerParams{1: {Resources: &lease.SchedulerResources{GPU: &g}}}
	}
	for want, change := range map[string]func(*sample){
		"pass --scheduler-params FILE":                            func(s *sample) { s.web().Resources.GPU.Units = 1 },
		`there are no GPUs of the vendor "intel" that was chosen`: func(s *sample) { gpu(s, lease.SchedulerGPU{Vendor: "intel", Model: "arc"}) },
		"no node can have the label":                              func(s *sample) { gpu(s, lease.SchedulerGPU{Vendor: "nvidia", Model: "a b"}) },
		`"-" is not the name of a runtime class`:                  func(s *sample) { s.web().Scheduler = &lease.SchedulerParams{RuntimeClass: "-"} },
	} {
		s := one()
		change(&s)
		if _, err := workload.Lease(s.def, s.cfg, s.opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	s := one()
	s.def.Workloads = nil
	if rendered, err := workload.Lease(s.def, s.cfg, s.opt); err != nil || len(rendered.Objects) > 0 {
		t.Errorf("a definition without workloads has %v, %v", rendered.Objects, err)
	}
}

// A service may be named so that a policy of it has the name of another service's; the API server would keep one of the two.
func TestTwoPoliciesOfOneName(t *testing.T) {
	for servers, want := range map[string]string{"10.0.0.1:443": `the name "akash-apiserver-web-np" of one of the service "apiserver-web"`, "": ""} {
		s := one()
		s.def.Services = []lease.Service{{Name: "apiserver-web"}, {Name: "web-np"}}
		s.web().Name = "apiserver-web"
		s.expose(lease.Expose{Port: 22, Protocol: lease.TCP, Global: true})
		reader := *s.web()
		reader.Name, reader.Params = "web-np", &lease.Params{Permissions: &lease.Permissions{Read: []string{"logs"}}}
		s.def.Workloads.Services = append(s.def.Workloads.Services, reader)
		if servers != "" {
			s.cfg.Workloads.APIServers = []netip.AddrPort{netip.MustParseAddrPort(servers)}
		}
		_, err := workload.Lease(s.def, s.cfg, s.opt)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("with the API servers %q: error %v, want %q", servers, err, want)
		}
	}
}
