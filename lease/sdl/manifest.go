package sdl

import (
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/manifest"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

// spelling has the keys of a Manifest as a format spells them, by the names that its types give them: camelCase in JSON for a provider,
// snake_case in an object of the cluster.
type spelling struct {
	group, service, expose, http []string
	of                           func(key string) string
}

var (
	jsonKeys      = sync.OnceValue(func() spelling { return spelled(camelCase) })
	objectKeys    = sync.OnceValue(func() spelling { return spelled(asItIs) })
	rootKeys      = []string{"apiVersion", "kind", "metadata", "spec", "status"}
	valueKeys     = []string{"val"}
	attributeKeys = []string{"key", "value"}
)

func spelled(of func(key string) string) spelling {
	keys := func(typ any) (out []string) {
		for _, key := range document.Keys(typ) {
			out = append(out, of(key))
		}
		return out
	}
	return spelling{keys(manifest.Group{}), keys(manifest.Service{}), keys(manifest.Expose{}), keys(manifest.HTTP{}), of}
}

func asItIs(key string) string { return key }

// camelCase returns scheduler_params as schedulerParams.
func camelCase(key string) string {
	first, rest, more := strings.Cut(key, "_")
	for more && rest != "" {
		var word string
		word, rest, more = strings.Cut(rest, "_")
		first += strings.ToUpper(word[:1]) + word[1:]
	}
	return first
}

// ReadGroups reads a manifest as it is sent to a provider, a list of groups, and returns the definition of the group
// with the lease's gseq, or nil if there is none. It validates all groups. workloads makes it read and validate what
// the services run.
func ReadGroups(c document.Cursor, id lease.ID, workloads bool) *lease.Definition {
	defs := ReadAllGroups(c, id, workloads)
	if int64(id.GSeq) > int64(len(defs)) {
		if len(defs) > 0 {
			c.Errorf("there is no group with gseq %d; the manifest has %d", id.GSeq, len(defs))
		}
		return nil
	}
	return defs[id.GSeq-1]
}

// ReadAllGroups is ReadGroups, but returns all groups, each with its own gseq in the lease.
func ReadAllGroups(c document.Cursor, id lease.ID, workloads bool) []*lease.Definition {
	c.Document().Integers = true // the provider reads it with encoding/json
	var defs []*lease.Definition
	names := map[string]bool{}
	global := false
	for item := range c.List() {
		def := &lease.Definition{Lease: id, At: item.At()}
		def.Lease.GSeq = uint32(len(defs)) + 1
		name, anyGlobal := readGroup(item, jsonKeys(), def, workloads)
		if names[name] {
			item.Errorf("there are two groups named %q", name)
		}
		names[name] = true
		global = global || anyGlobal
		defs = append(defs, def)
	}
	if len(defs) == 0 {
		c.Errorf("the manifest has no groups")
	} else if !global && !c.Document().Problems.Failed() {
		c.Errorf("no service is exposed globally; at least one must be")
	}
	check(c.Document(), workloads, defs...)
	return defs
}

// ReadManifest reads a Manifest object, which names its lease. It accepts spellings of the keys that differ from those
// of Akash's provider, with a warning. workloads makes it read and validate what the services run.
func ReadManifest(c document.Cursor, workloads bool) *lease.Definition {
	root := c.Mapping(rootKeys)
	def := &lease.Definition{At: c.At(), Name: root.Get("metadata").Peek("name")}
	spec := root.Require("spec").SpelledMapping(document.Keys(manifest.Spec{}))
	def.Lease = readLeaseID(spec.Require("lease_id"))
	readGroup(spec.Require("group"), objectKeys(), def, workloads)
	check(c.Document(), workloads, def)
	return def
}

func readLeaseID(c document.Cursor) lease.ID {
	m := c.SpelledMapping(document.Keys(manifest.LeaseID{}))
	address := func(key string) string {
		v := m.Require(key)
		s := v.Word()
		if v.IsScalar() && !v.IsNull() {
			v.Report(lease.CheckWallet(s))
		}
		return s
	}
	return lease.ID{
		Owner:    address("owner"),
		DSeq:     m.Require("dseq").Sequence(math.MaxUint64, "a number"),
		GSeq:     uint32(m.Require("gseq").Sequence(math.MaxUint32, "a number")),
		OSeq:     uint32(m.Require("oseq").Sequence(math.MaxUint32, "a number")),
		Provider: address("provider"),
	}
}

// readGroup adds the group's services to the definition. It returns the group's name, and whether any port is global.
func readGroup(c document.Cursor, keys spelling, def *lease.Definition, workloads bool) (name string, global bool) {
	m := c.SpelledMapping(keys.group)
	if workloads {
		def.Workloads = &lease.Workloads{Group: m.Get("name").Word()}
	}
	if m.Present() && m.Get("services").Len() == 0 {
		m.Errorf("the group has no services")
	}
	for item := range m.Get("services").List() {
		sm := item.SpelledMapping(keys.service)
		nameAt := sm.Require("name")
		s := lease.Service{Name: nameAt.Word(), At: nameAt.At()}
		for e := range sm.Get("expose").List() {
			expose := readManifestExpose(e, keys, workloads)
			global = global || expose.Global
			if expose.Global || len(expose.Hosts) > 0 || expose.IP != "" || workloads {
				s.Expose = append(s.Expose, expose)
			}
		}
		if workloads {
			def.Workloads.Services = append(def.Workloads.Services, readManifestWorkload(sm, keys, s))
		}
		if err := lease.CheckServiceName(s.Name); err != nil && s.Name != "" {
			nameAt.Errorf("%v", err)
		}
		def.Services = append(def.Services, s)
	}
	if workloads {
		slices.SortStableFunc(def.Workloads.Services, lease.Workload.Compare)
	}
	addEndpoints(def, func(name string, at lease.Place) lease.IPEndpoint {
		return lease.IPEndpoint{Name: name, At: at}
	})
	return m.Get("name").Word(), global
}

func readManifestExpose(c document.Cursor, keys spelling, workloads bool) lease.Expose {
	m := c.SpelledMapping(keys.expose)
	e := lease.Expose{At: c.At(), Global: m.Get("global").Bool()}
	m.Require("port")
	e.Port = readPort(m.Get("port"), true)
	if as := m.Get(keys.of("external_port")); as.Raw() != "0" {
		e.As = readPort(as, true)
		e.SaysAs = workloads && e.As != 0 && e.As == e.Port
	}
	if workloads {
		e.Peer = m.Get("service").Word()
		n, _ := m.Get(keys.of("endpoint_sequence_number")).Uint(0, math.MaxUint32, "a number")
		e.Sequence = uint32(n)
	}
	e.Protocol = readProtocol(m.Get("proto"), true)
	for item := range m.Get("hosts").List() {
		refuseWildcard(item, item.Word())
		e.Hosts = append(e.Hosts, lease.Host{Name: item.Raw(), At: item.At()})
	}
	ip := m.Get("ip")
	e.IP, e.IPAt = ip.Word(), ip.At()
	options := m.Get(keys.of("http_options")).SpelledMapping(keys.http)
	if options.Present() {
		readOptions(options, keys.of, &e)
	}
	return e
}

// readManifestWorkload reads the workload of a manifest's service.
func readManifestWorkload(m document.Mapping, keys spelling, s lease.Service) lease.Workload {
	w := lease.Workload{
		Name: s.Name, At: s.At, Image: m.Get("image").Word(),
		Command: readTexts(m.Get("command").List()), Args: readTexts(m.Get("args").List()),
		Env:         readTexts(m.Get("env").List()),
		Resources:   readManifestResources(m.Require("resources")),
		Params:      readManifestParams(m.Get("params")),
		Credentials: ReadCredentials(m.Get("credentials"), true),
		Scheduler:   ReadSchedulerParams(m.Get(keys.of("scheduler_params"))),
	}
	n, _ := m.Get("count").Uint(0, math.MaxUint32, "a count")
	w.Count = uint32(n)
	return w
}

// readManifestResources reads a resource unit. Amounts are {"val": "100"} in JSON, and plain numbers or texts in an
// object.
func readManifestResources(c document.Cursor) resources.Resources {
	m := c.SpelledMapping(document.Keys(manifest.Resources{}))
	cpu, memory := m.Get("cpu").SpelledMapping(document.Keys(manifest.Units{})), m.Get("memory").SpelledMapping(document.Keys(manifest.Size{}))
	gpu := m.Get("gpu").SpelledMapping(document.Keys(manifest.Units{}))
	id, _ := m.Require("id").Uint(1, math.MaxUint32, "the number of a resource unit")
	out := resources.Resources{
		ID: uint32(id), CPU: readAmount(cpu.Get("units")), CPUAttributes: readAttributeList(cpu.Get("attributes")),
		Memory: readSize(memory), MemoryAttributes: readAttributeList(memory.Get("attributes")),
		GPU: resources.GPU{Units: readAmount(gpu.Get("units")), Attributes: readAttributeList(gpu.Get("attributes"))},
	}
	for item := range m.Get("storage").List() {
		vm := item.SpelledMapping(document.Keys(manifest.Volume{}))
		v := resources.Volume{Name: vm.Get("name").Word(), Size: readSize(vm), Attributes: readAttributeList(vm.Get("attributes"))}
		item.Report(resources.CheckVolume(v.Size))
		item.Report(resources.CheckVolumeAttributes(v))
		out.Volumes = append(out.Volumes, v)
	}
	if m.Present() {
		c.Report(resources.CheckCPU(out.CPU))
		c.Report(resources.CheckMemory(out.Memory))
		c.Report(resources.CheckGPU(out.GPU))
	}
	return out
}

// readSize reads a size. Manifests for older providers call it quantity.
func readSize(m document.Mapping) uint64 {
	if old := m.Get("quantity"); m.Get("size").IsNull() && !old.IsNull() {
		return readAmount(old)
	}
	return readAmount(m.Get("size"))
}

func readAmount(c document.Cursor) uint64 {
	if c.IsMapping() {
		c = c.Mapping(valueKeys).Get("val")
	}
	if c.IsNull() {
		return 0
	}
	n, ok := resources.ParseCount(c.Raw())
	if !ok {
		n, _ = c.Uint(0, math.MaxInt64, "an amount")
	}
	return n
}

func readAttributeList(c document.Cursor) []resources.Attribute {
	var out []resources.Attribute
	seen := map[string]bool{}
	for item := range c.List() {
		m := item.Mapping(attributeKeys)
		a := resources.Attribute{Key: m.Get("key").Word(), Value: m.Get("value").Word()}
		if seen[a.Key] {
			item.Errorf("the attribute %q is given twice", a.Key)
		}
		seen[a.Key] = true
		out = append(out, a)
	}
	slices.SortFunc(out, resources.Attribute.Compare)
	return out
}

func readManifestParams(c document.Cursor) *lease.Params {
	m := c.Mapping(document.Keys(manifest.Params{}))
	if !m.Present() {
		return nil
	}
	params := &lease.Params{}
	for item := range m.Get("storage").List() {
		sm := item.SpelledMapping(document.Keys(manifest.Mount{}))
		params.Storage = append(params.Storage, lease.Mount{
			Volume: sm.Get("name").Word(), Path: sm.Get("mount").Word(), ReadOnly: sm.Get("readOnly").Bool(), At: item.At(),
		})
	}
	slices.SortStableFunc(params.Storage, lease.Mount.Compare)
	if pm := m.Get("permissions").Mapping(document.Keys(manifest.Permissions{})); pm.Present() {
		params.Permissions = &lease.Permissions{Read: readTexts(pm.Get("read").List())}
	}
	return params
}

// ReadSchedulerParams reads the result of a reservation for a resource unit; nil if it is null.
func ReadSchedulerParams(c document.Cursor) *lease.SchedulerParams {
	var params *lease.SchedulerParams
	document.DecodeSpelled(c, &params)
	return params
}
