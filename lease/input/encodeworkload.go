package input

import (
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

// Workload is a lease.Workload.
type Workload struct {
	Image       string       `json:"image"`
	Command     []string     `json:"command,omitempty"`
	Args        []string     `json:"args,omitempty"`
	Env         []string     `json:"env,omitempty"`
	Count       uint32       `json:"count,omitempty"`
	Resources   Resources    `json:"resources"`
	Params      *Params      `json:"params,omitempty"`
	Credentials *Credentials `json:"credentials,omitempty"`
}

// Resources is a resources.Resources with amounts as texts.
type Resources struct {
	ID               uint32            `json:"id"`
	CPU              string            `json:"cpu"`
	CPUAttributes    map[string]string `json:"cpuAttributes,omitempty"`
	Memory           string            `json:"memory"`
	MemoryAttributes map[string]string `json:"memoryAttributes,omitempty"`
	GPU              *GPU              `json:"gpu,omitempty"`
	Storage          []Volume          `json:"storage,omitempty"`
}

// GPU is a resources.GPU; the value of each attribute is "true".
type GPU struct {
	Units      uint64   `json:"units"`
	Attributes []string `json:"attributes,omitempty"`
}

// Volume is a resources.Volume.
type Volume struct {
	Name       string  `json:"name"`
	Size       string  `json:"size"`
	Class      *string `json:"class,omitempty"`
	Persistent *bool   `json:"persistent,omitempty"`
}

// Params is a lease.Params.
type Params struct {
	Storage     map[string]Mount `json:"storage,omitempty"`
	Permissions *Permissions     `json:"permissions,omitempty"`
}

// Mount is a lease.Mount.
type Mount struct {
	Mount    string `json:"mount"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}

// Permissions is a lease.Permissions.
type Permissions struct {
	Read []string `json:"read,omitempty"`
}

// Credentials is a lease.Credentials.
type Credentials struct {
	Host     string `json:"host"`
	Email    string `json:"email,omitempty"`
	Username string `json:"username"`
	Password string `json:"password,omitempty"`
}

// EncodeSecrets is Encode, but includes the passwords of registries.
func EncodeSecrets(def *lease.Definition) *Document {
	doc := Encode(def)
	for i, s := range def.Services {
		if def.Workloads == nil {
			break
		}
		if w := def.Workloads.Workload(s.Name); w != nil && w.Credentials != nil {
			doc.Spec.Services[i].Workload.Credentials.Password = w.Credentials.Password
		}
	}
	return doc
}

func encodeWorkload(w *lease.Workload) *Workload {
	if w == nil {
		return nil
	}
	out := &Workload{Image: w.Image, Command: w.Command, Args: w.Args, Env: w.Env, Resources: encodeResources(w.Resources)}
	if w.Count != 1 {
		out.Count = w.Count
	}
	if p := w.Params; p != nil {
		out.Params = &Params{}
		for _, m := range p.Storage {
			if out.Params.Storage == nil {
				out.Params.Storage = map[string]Mount{}
			}
			out.Params.Storage[m.Volume] = Mount{Mount: m.Path, ReadOnly: m.ReadOnly}
		}
		if p.Permissions != nil {
			out.Params.Permissions = &Permissions{Read: p.Permissions.Read}
		}
	}
	if k := w.Credentials; k != nil {
		out.Credentials = &Credentials{Host: k.Host, Email: k.Email, Username: k.Username}
	}
	return out
}

func encodeResources(r resources.Resources) Resources {
	out := Resources{
		ID: r.ID, CPU: resources.FormatCPU(r.CPU), CPUAttributes: attributeMap(r.CPUAttributes),
		Memory: resources.FormatBytes(r.Memory), MemoryAttributes: attributeMap(r.MemoryAttributes),
	}
	if r.GPU.Units > 0 || len(r.GPU.Attributes) > 0 {
		out.GPU = &GPU{Units: r.GPU.Units}
		for _, a := range r.GPU.Attributes {
			out.GPU.Attributes = append(out.GPU.Attributes, a.Key)
		}
	}
	for _, v := range r.Volumes {
		volume := Volume{Name: v.Name, Size: resources.FormatBytes(v.Size)}
		for _, a := range v.Attributes {
			switch a.Key {
			case resources.AttributeClass:
				volume.Class = &a.Value
			case resources.AttributePersistent:
				truth := a.Value == "true"
				volume.Persistent = &truth
			}
		}
		out.Storage = append(out.Storage, volume)
	}
	return out
}

func attributeMap(attributes []resources.Attribute) map[string]string {
	if len(attributes) == 0 {
		return nil
	}
	out := make(map[string]string, len(attributes))
	for _, a := range attributes {
		out[a.Key] = a.Value
	}
	return out
}
