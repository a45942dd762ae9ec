// Package workgen makes definitions with workloads, as users could write them.
package workgen

import (
	"fmt"
	"net/netip"
	"slices"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

// Lease is the lease of all definitions.
var Lease = lease.ID{
	Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 8438017, GSeq: 1, OSeq: 1,
	Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0",
}

// Password is in every password, and in nothing else.
const Password = "hunter2"

// Definition draws a definition that lease.Check and workload.Check accept, and what a reservation chose for it.
func Definition(t *rapid.T) (*lease.Definition, map[uint32]*lease.SchedulerParams) {
	def := &lease.Definition{Name: "generated", Lease: Lease, Hash: lease.Hash("generated"), Workloads: &lease.Workloads{Group: "west"}}
	params := map[uint32]*lease.SchedulerParams{}
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]([-a-z0-9]{0,12}[a-z0-9])?`).Filter(func(s string) bool { return len(s) < 4 || s[len(s)-3:] != "-np" }), 1, 4, rapid.ID).Draw(t, "names")
	slices.Sort(names)
	for i, name := range names {
		w := drawWorkload(t, name)
		w.Resources.ID = uint32(i) + 1
		if w.Resources.GPU.Units > 0 {
			params[w.Resources.ID] = drawScheduler(t)
		}
		def.Services = append(def.Services, lease.Service{Name: name, Expose: drawPorts(t, name, names)})
		def.Workloads.Services = append(def.Workloads.Services, w)
	}
	for _, s := range def.Services {
		for _, e := range s.Expose {
			if e.IP != "" && def.Endpoint(e.IP) == nil {
				def.IPEndpoints = append(def.IPEndpoints, lease.IPEndpoint{Name: e.IP})
			}
		}
	}
	lease.NumberEndpoints(def)
	return def, params
}

// Config draws a configuration as far as workloads look at it.
func Config(t *rapid.T) *config.ProviderConfig {
	cfg := config.Default()
	cfg.Target = rapid.SampledFrom([]string{config.TargetIngress, config.TargetHTTPRoute, config.TargetRoute}).Draw(t, "target")
	cfg.Workloads.NetworkPolicies = rapid.Bool().Draw(t, "policies")
	cfg.Workloads.StrictNetworkPolicies = rapid.Bool().Draw(t, "strict")
	cfg.Workloads.PublicHostname = rapid.SampledFrom([]string{"", "provider.example.com"}).Draw(t, "hostname")
	cfg.Workloads.ImagePullSecret = rapid.SampledFrom([]string{"", "regcred"}).Draw(t, "pullSecret")
	for range rapid.IntRange(0, 2).Draw(t, "servers") {
		cfg.Workloads.APIServers = append(cfg.Workloads.APIServers, rapid.SampledFrom([]netip.AddrPort{
			netip.MustParseAddrPort("10.1.0.10:6443"), netip.MustParseAddrPort("[fd00::12]:443"),
		}).Draw(t, "server"))
	}
	level := rapid.SampledFrom([]float64{1, 1.2, 2, 100})
	cfg.CommitLevels = config.CommitLevels{CPU: level.Draw(t, "cpuLevel"), GPU: 1, Memory: level.Draw(t, "memoryLevel"), Storage: level.Draw(t, "storageLevel")}
	return cfg
}

func drawWorkload(t *rapid.T, name string) lease.Workload {
	text := rapid.SampledFrom([]string{"sh", "-c", "echo \"$A\"", "", "ü: {}", "- a"})
	w := lease.Workload{
		Name: name, Image: rapid.SampledFrom([]string{"nginx", "ghcr.io/team/app:3", "nginx@sha256:abc"}).Draw(t, "image"),
		Command: rapid.SliceOfN(text, 0, 3).Draw(t, "command"), Args: rapid.SliceOfN(text, 0, 3).Draw(t, "args"),
		Env:   rapid.SliceOfN(rapid.SampledFrom([]string{"A=b", "A=c", "B", "C==", "AKASH_OWNER=me", "D.e-f=ü\n"}), 0, 4).Draw(t, "env"),
		Count: rapid.Uint32Range(1, 12).Draw(t, "count"), // of four services no more than a group may take
		Resources: resources.Resources{
			CPU:    rapid.Uint64Range(resources.MinCPU, resources.MaxCPU).Draw(t, "cpu"),
			Memory: rapid.Uint64Range(resources.MinMemory, resources.MaxMemory).Draw(t, "memory"),
		},
	}
	if rapid.Bool().Draw(t, "gpu") {
		w.Resources.GPU = resources.GPU{Units: rapid.Uint64Range(1, resources.MaxGPU).Draw(t, "units"), Attributes: []resources.Attribute{{Key: "vendor/nvidia/model/*", Value: "true"}}}
	}
	if rapid.Bool().Draw(t, "params") {
		w.Params = &lease.Params{}
		if rapid.Bool().Draw(t, "permissions") {
			w.Params.Permissions = &lease.Permissions{Read: rapid.SliceOfN(rapid.SampledFrom([]string{"logs", "events", "secrets"}), 0, 3).Draw(t, "read")}
		}
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "volumes") {
		drawVolume(t, &w, fmt.Sprintf("v%d", i))
	}
	if rapid.Bool().Draw(t, "credentials") {
		user, password := rapid.SampledFrom([]string{"bob", " b<o>b\"&"}), rapid.SampledFrom([]string{Password, " " + Password + "<>\\"})
		w.Credentials = &lease.Credentials{Host: "ghcr.io", Username: user.Draw(t, "username"), Password: password.Draw(t, "password"), Email: rapid.SampledFrom([]string{"", "a@b.c"}).Draw(t, "email")}
	}
	return w
}

func drawVolume(t *rapid.T, w *lease.Workload, name string) {
	v := resources.Volume{Name: name, Size: rapid.Uint64Range(resources.MinVolume, resources.MaxVolume).Draw(t, "size")}
	class := rapid.SampledFrom([]string{"", "ram", "beta2", "default"}).Draw(t, "class")
	persistent := class != "" && class != resources.ClassRAM
	if class != "" {
		v.Attributes = []resources.Attribute{{Key: resources.AttributeClass, Value: class}, {Key: resources.AttributePersistent, Value: fmt.Sprint(persistent)}}
	}
	w.Resources.Volumes = append(w.Resources.Volumes, v)
	if persistent || rapid.Bool().Draw(t, "mounted") {
		if w.Params == nil {
			w.Params = &lease.Params{}
		}
		w.Params.Storage = append(w.Params.Storage, lease.Mount{Volume: name, Path: "/mnt/" + name, ReadOnly: rapid.Bool().Draw(t, "readOnly")})
	}
}

func drawScheduler(t *rapid.T) *lease.SchedulerParams {
	return &lease.SchedulerParams{
		RuntimeClass: rapid.SampledFrom([]string{"", "none", "nvidia"}).Draw(t, "runtimeClass"),
		Resources: &lease.SchedulerResources{GPU: &lease.SchedulerGPU{
			Vendor: rapid.SampledFrom([]string{"nvidia", "amd"}).Draw(t, "vendor"), Model: rapid.SampledFrom([]string{"a100", "rtx4090"}).Draw(t, "model"),
			MemorySize: rapid.SampledFrom([]string{"", "80Gi"}).Draw(t, "memorySize"),
		}},
	}
}

func drawPorts(t *rapid.T, service string, names []string) []lease.Expose {
	var ports []lease.Expose
	taken := map[string]bool{}
	for range rapid.IntRange(0, 5).Draw(t, "ports") {
		port := rapid.SampledFrom([]uint16{80, 53, 8080, 65535})
		e := lease.Expose{
			Port: port.Draw(t, "port"), As: rapid.SampledFrom([]uint16{0, 80, 443}).Draw(t, "as"),
			Protocol: rapid.SampledFrom([]lease.Protocol{lease.TCP, lease.UDP}).Draw(t, "protocol"), Global: rapid.Bool().Draw(t, "global"),
		}
		switch key := fmt.Sprint(e.ExternalPort(), e.Protocol); {
		case !e.Global:
			e.Peer = rapid.SampledFrom(append([]string{""}, names...)).Draw(t, "peer")
		case !taken[key] && len(ports) == 0 && rapid.Bool().Draw(t, "ip"):
			e.IP, taken[key] = "public-"+service, true
		}
		ports = append(ports, e)
	}
	return ports
}
