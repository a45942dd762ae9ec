package workload

import (
	"strconv"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/manifest"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
	"github.com/akash-net/kubectl-akash-net/render"
)

// manifest is Akash's record of what the lease runs, in the namespace where its provider keeps all Manifests.
func (b *builder) manifest() render.Object {
	spec := manifest.Spec{Group: manifest.Group{Name: b.def.Workloads.Group}, LeaseID: manifest.NewLeaseID(b.def.Lease)}
	for i := range b.def.Workloads.Services {
		spec.Group.Services = append(spec.Group.Services, b.service(&b.def.Workloads.Services[i]).manifestService())
	}
	return render.NewCustom(kinds.Manifest, render.Meta{
		Annotations: b.marks(), Labels: b.leaseLabels(b.baseLabels()), Name: b.ns, Namespace: b.cfg.ManifestNamespace,
	}, spec)
}

func (s *service) manifestService() manifest.Service {
	out := manifest.Service{
		Name: s.Name, Image: s.Image, Command: s.Command, Args: s.Args, Env: s.Env, Count: s.Count,
		Resources: manifestAmounts(s.Resources), Scheduler: s.scheduler,
	}
	for _, e := range s.ports {
		out.Expose = append(out.Expose, manifestPort(e))
	}
	if p := s.Params; p != nil {
		out.Params = &manifest.Params{}
		for _, m := range p.Storage {
			out.Params.Storage = append(out.Params.Storage, manifest.Mount{Name: m.Volume, Mount: m.Path, ReadOnly: m.ReadOnly})
		}
		if p.Permissions != nil {
			out.Params.Permissions = &manifest.Permissions{Read: p.Permissions.Read}
		}
	}
	if k := s.Credentials; k != nil {
		out.Credentials = &manifest.Credentials{Host: k.Host, Email: k.Email, Username: k.Username}
		if s.opt.Secrets {
			out.Credentials.Password = k.Password
		}
	}
	return out
}

// manifestPort keeps an "as" that was written although it equals the port.
func manifestPort(e lease.Expose) manifest.Expose {
	http := e.HTTP.WithDefaults()
	out := manifest.Expose{
		Sequence: e.Sequence, ExternalPort: e.As, Global: e.Global, IP: e.IP, Port: e.Port, Proto: string(e.Protocol), Service: e.Peer,
		HTTP: manifest.HTTP{
			MaxBodySize: http.MaxBodySize, NextCases: http.NextCases, NextTries: http.NextTries,
			NextTimeout: http.NextTimeout.Milliseconds(), ReadTimeout: http.ReadTimeout.Milliseconds(),
			SendTimeout: http.SendTimeout.Milliseconds(),
		},
	}
	if e.SaysAs {
		out.ExternalPort = e.Port
	}
	for _, h := range e.Hosts {
		out.Hosts = append(out.Hosts, h.Name)
	}
	return out
}

func manifestAmounts(r resources.Resources) manifest.Resources {
	text := func(n uint64) string { return strconv.FormatUint(n, 10) }
	out := manifest.Resources{
		ID: r.ID, CPU: manifest.Units{Attributes: r.CPUAttributes, Units: r.CPU}, GPU: manifest.Units{Attributes: r.GPU.Attributes,
			Units: r.GPU.Units},
		Memory: manifest.Size{Attributes: r.MemoryAttributes, Size: text(r.Memory)},
	}
	for _, v := range r.Volumes {
		out.Storage = append(out.Storage, manifest.Volume{Attributes: v.Attributes, Name: v.Name, Size: text(v.Size)})
	}
	return out
}
