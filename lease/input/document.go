package input

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
	"github.com/akash-net/kubectl-akash-net/lease/sdl"
)

// Document is a LeaseDefinition document, as it is read and written.
type Document struct {
	APIVersion string   `json:"apiVersion" read:"required"`
	Kind       string   `json:"kind" read:"required"`
	Metadata   Metadata `json:"metadata" read:"required"`
	Spec       Spec     `json:"spec" read:"required"`
}

// Metadata is the metadata of a Document.
type Metadata struct {
	Name        string            `json:"name" read:"required"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
}

// Spec is the spec of a Document.
type Spec struct {
	Lease       lease.ID           `json:"lease" read:"required"`
	Group       string             `json:"group,omitempty"`
	Services    []Service          `json:"services" read:"required"`
	IPEndpoints []lease.IPEndpoint `json:"ipEndpoints,omitempty"`
}

// Service is a service, with what it runs.
type Service struct {
	Of       lease.Service `doc:",inline"`
	Workload *Workload     `doc:"workload,omitempty"`
	At       lease.Place   `at:"."`
}

// Workload is what a service runs, with resources as texts.
type Workload struct {
	Of          lease.Workload `doc:",inline"`
	Resources   Resources      `doc:"resources" read:"required"`
	Credentials *Credentials   `doc:"credentials,omitempty"`
}

// Credentials are the credentials of a private registry.
type Credentials struct {
	Host     string      `json:"host"`
	Email    string      `json:"email,omitempty"`
	Username string      `json:"username"`
	Password string      `json:"password,omitempty"`
	At       lease.Place `json:"-"`
}

// Decode reads credentials. Messages never contain any of the values.
func (k *Credentials) Decode(c document.Cursor) {
	if read := sdl.ReadCredentials(c, false); read != nil {
		*k = Credentials(*read)
	}
}

// Resources are the resources of a workload.
type Resources struct {
	ID               uint32                `doc:"id" is:"the number of a resource unit" min:"1"`
	CPU              cpu                   `doc:"cpu" read:"required"`
	CPUAttributes    []resources.Attribute `doc:"cpuAttributes,omitempty"`
	Memory           memory                `doc:"memory" read:"required"`
	MemoryAttributes []resources.Attribute `doc:"memoryAttributes,omitempty"`
	GPU              *GPU                  `doc:"gpu,omitempty"`
	Storage          []Volume              `doc:"storage,omitempty"`
}

// GPU is a number of GPUs; the value of each attribute is "true".
type GPU struct {
	Units      uint64      `doc:"units" is:"a number of GPUs" max:"9223372036854775807"`
	Attributes []string    `doc:"attributes,omitempty"`
	At         lease.Place `at:"."`
}

// Volume is a volume. A missing class or "persistent" is no attribute of it.
type Volume struct {
	Name       string      `doc:"name" default:"default"`
	Size       size        `doc:"size" read:"required"`
	Class      *string     `doc:"class,omitempty"`
	Persistent *bool       `doc:"persistent,omitempty"`
	At         lease.Place `at:"."`
}

// The amounts of resources: in thousandths of a CPU, and in bytes.
type (
	cpu    uint64
	memory uint64
	size   uint64
)

// rules are what texts of a LeaseDefinition must be.
var rules = document.Rules{"wallet": lease.CheckWallet, "address": func(s string) error {
	_, err := config.ParseAddr(s)
	return err
}}

// readDefinition reads a LeaseDefinition document. It always validates the workloads, and keeps them if workloads is
// true.
func readDefinition(c document.Cursor, workloads bool) *lease.Definition {
	d := c.Document()
	d.Strict = true
	defer func() { d.Strict = false }()
	var doc Document
	document.Decode(c, &doc, rules)
	def := &lease.Definition{
		Name: doc.Metadata.Name, Lease: doc.Spec.Lease, IPEndpoints: doc.Spec.IPEndpoints, At: c.At(),
		Services: make([]lease.Service, 0, len(doc.Spec.Services)),
	}
	read := &lease.Workloads{Group: doc.Spec.Group}
	for i := range doc.Spec.Services {
		s := &doc.Spec.Services[i]
		for j := range s.Of.Expose {
			if e := &s.Of.Expose[j]; workloads {
				e.SaysAs = e.As != 0 && e.As == e.Port
			} else {
				e.Peer, e.Sequence = "", 0
			}
		}
		def.Services = append(def.Services, s.Of)
		if s.Workload != nil {
			read.Services = append(read.Services, s.workload(d))
		} else if workloads {
			d.Problems.Add(s.At, "the service has no \"workload\", which says what it runs")
		}
	}
	if sortWorkloads(read); workloads {
		def.Workloads = read
	}
	d.Check(def)
	return def
}

// workload returns what the service runs, and reports what is wrong with its resources.
func (s *Service) workload(d *document.Document) lease.Workload {
	w, r := s.Workload.Of, &s.Workload.Resources
	w.Name, w.At = s.Of.Name, s.Of.At
	w.Resources = resources.Resources{
		ID: r.ID, CPU: uint64(r.CPU), CPUAttributes: r.CPUAttributes, Memory: uint64(r.Memory), MemoryAttributes: r.MemoryAttributes,
	}
	report := func(at lease.Place, err error) {
		if err != nil {
			d.Problems.Add(at, "%v", err)
		}
	}
	if r.GPU != nil {
		w.Resources.GPU.Units = r.GPU.Units
		for _, key := range r.GPU.Attributes {
			w.Resources.GPU.Attributes = append(w.Resources.GPU.Attributes, resources.Attribute{Key: key, Value: "true"})
		}
		report(r.GPU.At, resources.CheckGPU(w.Resources.GPU))
	}
	for _, list := range [][]resources.Attribute{r.CPUAttributes, r.MemoryAttributes, w.Resources.GPU.Attributes} {
		slices.SortFunc(list, resources.Attribute.Compare)
	}
	for _, of := range r.Storage {
		v := resources.Volume{Name: of.Name, Size: uint64(of.Size)}
		if of.Class != nil {
			v.Attributes = append(v.Attributes, resources.Attribute{Key: resources.AttributeClass, Value: *of.Class})
		}
		if of.Persistent != nil {
			v.Attributes = append(v.Attributes, resources.Attribute{Key: resources.AttributePersistent, Value: strconv.FormatBool(*of.Persistent)})
		}
		report(of.At, resources.CheckVolumeAttributes(v))
		w.Resources.Volumes = append(w.Resources.Volumes, v)
	}
	if w.Params != nil {
		slices.SortStableFunc(w.Params.Storage, lease.Mount.Compare)
	}
	if k := s.Workload.Credentials; k != nil && k.At != (lease.Place{}) { // they could be read
		credentials := lease.Credentials(*k)
		w.Credentials = &credentials
	}
	return w
}

// sortWorkloads sorts workloads by name, and numbers resource units without an ID by their position.
func sortWorkloads(w *lease.Workloads) {
	slices.SortStableFunc(w.Services, lease.Workload.Compare)
	for i := range w.Services {
		if r := &w.Services[i].Resources; r.ID == 0 {
			r.ID = uint32(i) + 1
		}
	}
}

// aSize says what a size looks like.
const aSize = "a size such as 512Mi"

// Decode reads a number of CPUs.
func (n *cpu) Decode(c document.Cursor) {
	*n = cpu(readQuantity(c, resources.ParseCPU, resources.CheckCPU, "a number of CPUs such as 0.5 or 500m", 0))
}

// MarshalText returns the number of CPUs as it is written.
func (n cpu) MarshalText() ([]byte, error) { return []byte(resources.FormatCPU(uint64(n))), nil }

// Decode reads a size of memory.
func (n *memory) Decode(c document.Cursor) {
	*n = memory(readQuantity(c, resources.ParseBytes, resources.CheckMemory, aSize, resources.MinMemory))
}

// MarshalText returns the size as it is written.
func (n memory) MarshalText() ([]byte, error) { return []byte(resources.FormatBytes(uint64(n))), nil }

// Decode reads the size of a volume.
func (n *size) Decode(c document.Cursor) {
	*n = size(readQuantity(c, resources.ParseBytes, resources.CheckVolume, aSize, resources.MinVolume))
}

// MarshalText returns the size as it is written.
func (n size) MarshalText() ([]byte, error) { return []byte(resources.FormatBytes(uint64(n))), nil }

// readQuantity reads an amount, which may be written as a text or a number. leastSize is the least of a size, and else 0.
func readQuantity(c document.Cursor, parse func(string) (uint64, bool), check func(uint64) error, what string, leastSize uint64) uint64 {
	n, ok := parse(c.Word())
	err := check(n)
	if !ok {
		err = fmt.Errorf("%q is not %s", c.Raw(), what)
	}
	if leastSize > 0 && err != nil {
		err = fmt.Errorf("%w%s", err, resources.HintSize(c.Raw(), leastSize))
	}
	if c.IsScalar() {
		c.Report(err)
	}
	return n
}

// Encode returns the LeaseDefinition document for a definition that has passed Check. Reading the document gives an
// equal definition, with two exceptions: a missing name becomes lease-DSEQ-GSEQ, and passwords of registries are
// written only by EncodeSecrets.
func Encode(def *lease.Definition) *Document {
	doc := EncodeSecrets(def)
	for _, s := range doc.Spec.Services {
		if s.Workload != nil && s.Workload.Credentials != nil {
			s.Workload.Credentials.Password = ""
		}
	}
	return doc
}

// EncodeSecrets is Encode, but includes the passwords of registries.
func EncodeSecrets(def *lease.Definition) *Document {
	doc := &Document{
		APIVersion: APIVersion,
		Kind:       Kind,
		Metadata: Metadata{
			Name:        cmp.Or(def.Name, fmt.Sprintf("lease-%d-%d", def.Lease.DSeq, def.Lease.GSeq)),
			Annotations: map[string]string{"config.kubernetes.io/local-config": "true"},
		},
		Spec: Spec{Lease: def.Lease, Services: make([]Service, len(def.Services)), IPEndpoints: def.IPEndpoints},
	}
	if def.Workloads != nil {
		doc.Spec.Group = def.Workloads.Group
	}
	for i, s := range def.Services {
		s.Expose = slices.Clone(s.Expose)
		for j := range s.Expose {
			if e := &s.Expose[j]; e.SaysAs {
				e.As = e.Port
			}
		}
		doc.Spec.Services[i].Of = s
		if def.Workloads != nil {
			doc.Spec.Services[i].Workload = encodeWorkload(def.Workloads.Workload(s.Name))
		}
	}
	return doc
}

// MarshalJSON returns the document as JSON.
func (d *Document) MarshalJSON() ([]byte, error) { return document.Encode(d) }

func encodeWorkload(w *lease.Workload) *Workload {
	if w == nil {
		return nil
	}
	r := &w.Resources
	out := &Workload{Of: *w, Resources: Resources{
		ID: r.ID, CPU: cpu(r.CPU), CPUAttributes: r.CPUAttributes, Memory: memory(r.Memory), MemoryAttributes: r.MemoryAttributes,
	}}
	if r.GPU.Units > 0 || len(r.GPU.Attributes) > 0 {
		out.Resources.GPU = &GPU{Units: r.GPU.Units}
		for _, a := range r.GPU.Attributes {
			out.Resources.GPU.Attributes = append(out.Resources.GPU.Attributes, a.Key)
		}
	}
	for _, v := range r.Volumes {
		volume := Volume{Name: v.Name, Size: size(v.Size)}
		for _, a := range v.Attributes {
			switch a.Key {
			case resources.AttributeClass:
				volume.Class = &a.Value
			case resources.AttributePersistent:
				truth := a.Value == "true"
				volume.Persistent = &truth
			}
		}
		out.Resources.Storage = append(out.Resources.Storage, volume)
	}
	if w.Credentials != nil {
		credentials := Credentials(*w.Credentials)
		out.Credentials = &credentials
	}
	return out
}

// ReadScheduler reads the result of a reservation, as JSON or YAML: a mapping of resource unit IDs to scheduler params
// as in a Manifest object, or null. The error is that of the reader.
func ReadScheduler(r io.Reader, file string) (map[uint32]*lease.SchedulerParams, lease.Problems, error) {
	var problems lease.Problems
	params := map[uint32]*lease.SchedulerParams{}
	for doc, err := range document.Read(r, file) {
		if err != nil {
			return nil, problems, err
		}
		doc.Strict = true
		for key, v := range doc.Root().AnyMapping().Entries() {
			id, err := strconv.ParseUint(key.Key(), 10, 32)
			if err != nil || id == 0 || key.Key() != strconv.FormatUint(id, 10) {
				key.Errorf("%q is not the id of a resource unit", key.Key())
			} else if _, twice := params[uint32(id)]; twice {
				key.Errorf("the resource unit %d is given twice", id)
			}
			params[uint32(id)] = sdl.ReadSchedulerParams(v)
		}
		problems = append(problems, doc.Problems.Sorted()...)
	}
	return params, problems, nil
}
