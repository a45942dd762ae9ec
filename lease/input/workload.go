package input

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
	"github.com/akash-net/kubectl-akash-net/lease/sdl"
	"github.com/akash-net/kubectl-akash-net/lease/suggest"
)

// The keys of a service's workload in a LeaseDefinition.
var (
	workloadKeys    = []string{"image", "command", "args", "env", "count", "resources", "params", "credentials"}
	resourcesKeys   = []string{"id", "cpu", "cpuAttributes", "memory", "memoryAttributes", "gpu", "storage"}
	gpuKeys         = []string{"units", "attributes"}
	volumeKeys      = []string{"name", "size", "class", "persistent"}
	paramsKeys      = []string{"storage", "permissions"}
	mountKeys       = []string{"mount", "readOnly"}
	permissionsKeys = []string{"read"}
)

// readWorkload reads the workload of a service; nil if there is none.
func readWorkload(c document.Cursor, s lease.Service) *lease.Workload {
	m := c.Mapping(workloadKeys)
	if !m.Present() {
		return nil
	}
	w := &lease.Workload{
		Name: s.Name, At: s.At, Count: 1, Image: m.Require("image").Text(),
		Command: readTexts(m.Get("command")), Args: readTexts(m.Get("args")), Env: readTexts(m.Get("env")),
		Resources: readResources(m.Require("resources")), Params: readParams(m.Get("params")),
		Credentials: sdl.ReadCredentials(m.Get("credentials"), false),
	}
	if n, ok := m.Get("count").Uint(1, math.MaxUint32, "a count"); ok {
		w.Count = uint32(n)
	}
	return w
}

func readTexts(c document.Cursor) []string {
	var out []string
	for item := range c.List() {
		out = append(out, item.Text())
	}
	return out
}

func readResources(c document.Cursor) resources.Resources {
	m := c.Mapping(resourcesKeys)
	id, _ := m.Get("id").Uint(1, math.MaxUint32, "the number of a resource unit")
	out := resources.Resources{
		ID: uint32(id),
		CPU: readQuantity(m.Require("cpu"), resources.ParseCPU, resources.CheckCPU,
			"a number of CPUs such as 0.5 or 500m", 0), CPUAttributes: readAttributes(m.Get("cpuAttributes")),
		Memory: readQuantity(m.Require("memory"), resources.ParseBytes, resources.CheckMemory, aSize, resources.MinMemory), MemoryAttributes: readAttributes(m.Get("memoryAttributes")),
	}
	if g := m.Get("gpu").Mapping(gpuKeys); g.Present() {
		out.GPU.Units, _ = g.Get("units").Uint(0, math.MaxInt64, "a number of GPUs")
		for _, key := range readTexts(g.Get("attributes")) {
			out.GPU.Attributes = append(out.GPU.Attributes, resources.Attribute{Key: key, Value: "true"})
		}
		slices.SortFunc(out.GPU.Attributes, resources.Attribute.Compare)
		g.Report(resources.CheckGPU(out.GPU))
	}
	for item := range m.Get("storage").List() {
		out.Volumes = append(out.Volumes, readVolume(item))
	}
	return out
}

// readQuantity reads an amount, which may be written as a text or a number. leastSize is the least of a size, and else 0.
func readQuantity(c document.Cursor, parse func(string) (uint64, bool), check func(uint64) error, what string, leastSize uint64) uint64 {
	if c.IsNull() {
		return 0
	}
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

// aSize says what a size looks like.
const aSize = "a size such as 512Mi"

func readAttributes(c document.Cursor) []resources.Attribute {
	var out []resources.Attribute
	for key, v := range c.AnyMapping().Entries() {
		out = append(out, resources.Attribute{Key: key.Key(), Value: v.Text()})
	}
	slices.SortFunc(out, resources.Attribute.Compare)
	return out
}

// readVolume reads a volume. A missing "class" or "persistent" is no attribute of the volume.
func readVolume(c document.Cursor) resources.Volume {
	m := c.Mapping(volumeKeys)
	v := resources.Volume{Name: cmp.Or(m.Get("name").Text(), resources.DefaultVolume)}
	v.Size = readQuantity(m.Require("size"), resources.ParseBytes, resources.CheckVolume, aSize, resources.MinVolume)
	if class := m.Get("class"); !class.IsNull() {
		v.Attributes = append(v.Attributes, resources.Attribute{Key: resources.AttributeClass, Value: class.Text()})
	}
	if p := m.Get("persistent"); !p.IsNull() {
		v.Attributes = append(v.Attributes,
			resources.Attribute{Key: resources.AttributePersistent, Value: strconv.FormatBool(p.Bool())})
	}
	c.Report(resources.CheckVolumeAttributes(v))
	return v
}

func readParams(c document.Cursor) *lease.Params {
	m := c.Mapping(paramsKeys)
	if !m.Present() {
		return nil
	}
	params := &lease.Params{}
	for key, v := range m.Get("storage").AnyMapping().Entries() {
		sm := v.Mapping(mountKeys)
		params.Storage = append(params.Storage, lease.Mount{
			Volume: key.Key(), Path: sm.Get("mount").Text(), ReadOnly: sm.Get("readOnly").Bool(), At: key.At(),
		})
	}
	slices.SortStableFunc(params.Storage, lease.Mount.Compare)
	if pm := m.Get("permissions").Mapping(permissionsKeys); pm.Present() {
		params.Permissions = &lease.Permissions{Read: readTexts(pm.Get("read"))}
	}
	return params
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

// EventType says what has happened to a lease, in the words of Akash's provider.
type EventType string

// The types of events.
const (
	LeaseWon         EventType = "LeaseWon"
	ManifestReceived EventType = "ManifestReceived"
	LeaseClosed      EventType = "LeaseClosed"
)

var eventTypes = []string{string(LeaseWon), string(ManifestReceived), string(LeaseClosed)}

// The keys of an event: ours, and those with which Akash's programs encode theirs (provider: event/events.go, LeaseWon and
// ManifestReceived; chain: EventLeaseClosed). What else these have says nothing that is needed.
var (
	leaseOfEvent    = []string{"lease", "LeaseID", "id"}
	manifestOfEvent = []string{"manifest", "Manifest"}
	eventKeys       = slices.Concat([]string{"type"}, leaseOfEvent, manifestOfEvent, []string{"Group", "Price", "Deployment", "price", "reason"})
	leaseIDKeys     = append(slices.Clone(leaseKeys), "bseq")
)

// Event is something that has happened to a lease.
type Event struct {
	// Type and Lease are empty if they could not be read.
	Type  EventType
	Lease lease.ID
	// Definition is what the manifest of ManifestReceived defines; nil for other types.
	Definition *lease.Definition
}

// ReadEvent reads an event from a line of JSON. The manifest may have any of the formats of Read but a List, and need not name its lease:
// that is the event's. With errors the event has what could be read all the same.
func ReadEvent(line []byte, file string, number int, opt Options) (Event, lease.Problems) {
	doc := document.Line(line, file, number)
	if doc.Problems.Failed() {
		return Event{}, doc.Problems.Sorted()
	}
	if doc.Root().IsNull() {
		doc.Root().Errorf("expected an event, found nothing")
		return Event{}, doc.Problems
	}
	doc.Strict = true
	root := doc.Root().Mapping(eventKeys)
	if !root.Present() {
		return Event{}, doc.Problems
	}
	event := Event{Type: readEventType(root.Require("type")), Lease: readEventLease(oneOf(root, leaseOfEvent))}
	if doc.Strict = false; event.Type != ManifestReceived {
		return event, doc.Problems.Sorted()
	}
	manifest := oneOf(root, manifestOfEvent)
	if doc.Problems.Failed() {
		return event, doc.Problems.Sorted()
	}
	if opt.Lease = &event.Lease; manifest.IsMapping() && manifest.Has("kind") {
		opt.Lease = nil // it names its own
	}
	defs, problems := readOne(manifest, opt)
	if len(defs) == 0 {
		if !problems.Failed() {
			problems.Add(manifest.At(), "the manifest defines nothing")
		}
		return event, problems
	}
	if of := defs[0].Lease; of != event.Lease {
		problems.Add(manifest.At(), "the manifest is for lease %s, and the event for lease %s", of, event.Lease)
		return event, problems
	}
	event.Definition = defs[0]
	return event, problems
}

// oneOf requires a value under one of the keys that mean the same.
func oneOf(m document.Mapping, keys []string) document.Cursor {
	i := max(slices.IndexFunc(keys, func(key string) bool { return m.Has(key) }), 0)
	for _, other := range keys[i+1:] {
		if m.Has(other) {
			m.Get(other).Errorf("%q and %q mean the same; give one of them", keys[i], other)
		}
	}
	return m.Require(keys[i])
}

// readEventType reads a type, with or without what the chain puts before it (akash.market.v1.EventLeaseClosed).
func readEventType(c document.Cursor) EventType {
	text, ok := c.ValidText()
	text = strings.TrimPrefix(text[strings.LastIndexByte(text, '.')+1:], "Event")
	for _, known := range eventTypes {
		if text == known {
			return EventType(known)
		}
	}
	if ok && !c.IsNull() { // Require reports null
		c.Errorf("unknown type %q%s; the types are %s", text, suggest.For(text, eventTypes), strings.Join(eventTypes, ", "))
	}
	return ""
}

// readEventLease reads a lease, which is a text or, as in a LeaseDefinition, a mapping.
func readEventLease(c document.Cursor) lease.ID {
	if !c.IsScalar() {
		return leaseOf(c.Mapping(leaseIDKeys))
	}
	text, ok := c.ValidText()
	if !ok || c.IsNull() { // Require reports null
		return lease.ID{}
	}
	id, err := lease.ParseID(text)
	if err == nil {
		err = id.CheckWallets()
	}
	if err != nil {
		c.Errorf("%v", err)
		return lease.ID{}
	}
	return id
}
