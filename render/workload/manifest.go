package workload

import (
	"strconv"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
	"github.com/akash-net/kubectl-akash-net/render"
)

// manifestSpec is the spec of Akash's Manifest (provider: pkg/apis/akash.network/v2beta2/manifest.go).
type manifestSpec struct {
	Group   manifestGroup      `json:"group"`
	LeaseID render.LeaseIDSpec `json:"lease_id"`
}

type manifestGroup struct {
	Name     string            `json:"name"`
	Services []manifestService `json:"services"`
}

type manifestService struct {
	Args        []string             `json:"args,omitempty"`
	Command     []string             `json:"command,omitempty"`
	Count       uint32               `json:"count"`
	Credentials *manifestCredentials `json:"credentials,omitempty"`
	Env         []string             `json:"env,omitempty"`
	Expose      []manifestExpose     `json:"expose,omitempty"`
	Image       string               `json:"image"`
	Name        string               `json:"name"`
	Params      *manifestParams      `json:"params,omitempty"`
	Resources   manifestResources    `json:"resources"`
	Scheduler   *lease.SchedulerParams `json:"scheduler_params,omitempty"`
}

type manifestCredentials struct {
	Email    string `json:"email"`
	Host     string `json:"host"`
	Password string `json:"password,omitempty"`
	Username string `json:"username"`
}

type manifestExpose struct {
	Sequence     uint32       `json:"endpoint_sequence_number"`
	ExternalPort uint16       `json:"external_port,omitempty"`
	Global       bool         `json:"global,omitempty"`
	Hosts        []string     `json:"hosts,omitempty"`
	HTTP         manifestHTTP `json:"http_options"`
	IP           string       `json:"ip,omitempty"`
	Port         uint16       `json:"port"`
	Proto        string       `json:"proto"`
	Service      string       `json:"service,omitempty"`
}

type manifestHTTP struct {
	MaxBodySize uint32   `json:"max_body_size"`
	NextCases   []string `json:"next_cases"`
	NextTimeout int64    `json:"next_timeout,omitempty"`
	NextTries   uint32   `json:"next_tries"`
	ReadTimeout int64    `json:"read_timeout"`
	SendTimeout int64    `json:"send_timeout"`
}

type manifestParams struct {
	Permissions *manifestPermissions `json:"permissions,omitempty"`
	Storage     []manifestMount      `json:"storage,omitempty"`
}

type manifestPermissions struct {
	Read []string `json:"read,omitempty"`
}

type manifestMount struct {
	Mount    string `json:"mount"`
	Name     string `json:"name"`
	ReadOnly bool   `json:"readOnly"`
}

type manifestResources struct {
	CPU     manifestUnits    `json:"cpu"`
	GPU     manifestUnits    `json:"gpu"`
	ID      uint32           `json:"id"`
	Memory  manifestSize     `json:"memory"`
	Storage []manifestVolume `json:"storage,omitempty"`
}

type manifestUnits struct {
	Attributes []resources.Attribute `json:"attributes,omitempty"`
	Units      uint64                `json:"units"`
}

type manifestSize struct {
	Attributes []resources.Attribute `json:"attributes,omitempty"`
	Size       string                `json:"size"`
}

type manifestVolume struct {
	Attributes []resources.Attribute `json:"attributes,omitempty"`
	Name       string                `json:"name"`
	Size       string                `json:"size"`
}

// manifest is Akash's record of what the lease runs, in the namespace where its provider keeps all Manifests.
func (b *builder) manifest() render.Object {
	spec := manifestSpec{Group: manifestGroup{Name: b.def.Workloads.Group}, LeaseID: render.NewLeaseIDSpec(b.def.Lease)}
	for i := range b.def.Workloads.Services {
		spec.Group.Services = append(spec.Group.Services, b.service(&b.def.Workloads.Services[i]).manifestService())
	}
	return render.NewCustom(kinds.Manifest, render.Meta{
		Annotations: b.marks(), Labels: b.leaseLabels(b.baseLabels()), Name: b.ns, Namespace: b.cfg.ManifestNamespace,
	}, spec)
}

func (s *service) manifestService() manifestService {
	out := manifestService{
		Name: s.Name, Image: s.Image, Command: s.Command, Args: s.Args, Env: s.Env, Count: s.Count,
		Resources: manifestAmounts(s.Resources), Scheduler: s.scheduler,
	}
	for _, e := range s.ports {
		out.Expose = append(out.Expose, manifestPort(e))
	}
	if p := s.Params; p != nil {
		out.Params = &manifestParams{}
		for _, m := range p.Storage {
			out.Params.Storage = append(out.Params.Storage, manifestMount{Name: m.Volume, Mount: m.Path, ReadOnly: m.ReadOnly})
		}
		if p.Permissions != nil {
			out.Params.Permissions = &manifestPermissions{Read: p.Permissions.Read}
		}
	}
	if k := s.Credentials; k != nil {
		out.Credentials = &manifestCredentials{Host: k.Host, Email: k.Email, Username: k.Username}
		if s.opt.Secrets {
			out.Credentials.Password = k.Password
		}
	}
	return out
}

// manifestPort keeps an "as" that was written although it equals the port.
func manifestPort(e lease.Expose) manifestExpose {
	http := e.HTTP.WithDefaults()
	out := manifestExpose{
		Sequence: e.Sequence, ExternalPort: e.As, Global: e.Global, IP: e.IP, Port: e.Port, Proto: string(e.Protocol), Service: e.Peer,
		HTTP: manifestHTTP{
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

func manifestAmounts(r resources.Resources) manifestResources {
	text := func(n uint64) string { return strconv.FormatUint(n, 10) }
	out := manifestResources{
		ID: r.ID, CPU: manifestUnits{Attributes: r.CPUAttributes, Units: r.CPU}, GPU: manifestUnits{Attributes: r.GPU.Attributes,
			Units: r.GPU.Units},
		Memory: manifestSize{Attributes: r.MemoryAttributes, Size: text(r.Memory)},
	}
	for _, v := range r.Volumes {
		out.Storage = append(out.Storage, manifestVolume{Attributes: v.Attributes, Name: v.Name, Size: text(v.Size)})
	}
	return out
}
