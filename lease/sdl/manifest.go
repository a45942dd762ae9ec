package sdl

import (
	"math"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

// spelling has the names of a manifest's keys: camelCase in JSON for a provider, snake_case in an object of the
// cluster.
type spelling struct {
	group, service, expose, http []string
}

// The index of each expose key in a spelling.
const (
	keyPort = iota
	keyExternalPort
	keyProto
	keyGlobal
	keyHosts
	keyHTTP
	keyIP
	keyService
	keySequence
)

var (
	jsonKeys = spelling{
		group: []string{"name", "services"},
		service: []string{"name", "image", "command", "args", "env", "resources", "count", "expose", "params", "credentials",
			"schedulerParams", "interconnectGroup"},
		expose: []string{"port", "externalPort", "proto", "global", "hosts", "httpOptions", "ip", "service", "endpointSequenceNumber"},
		http:   []string{"maxBodySize", "readTimeout", "sendTimeout", "nextTries", "nextTimeout", "nextCases", "proxyBufferSize"},
	}
	objectKeys = spelling{
		group: []string{"name", "services"},
		service: []string{"name", "image", "command", "args", "env", "resources", "count", "expose", "params", "credentials",
			"scheduler_params", "interconnect_group"},
		expose: []string{"port", "external_port", "proto", "global", "hosts", "http_options", "ip", "service",
			"endpoint_sequence_number"},
		http: []string{"max_body_size", "read_timeout", "send_timeout", "next_tries", "next_timeout", "next_cases",
			"proxy_buffer_size"},
	}
	rootKeys    = []string{"apiVersion", "kind", "metadata", "spec", "status"}
	specKeys    = []string{"lease_id", "group"}
	leaseIDKeys = []string{"owner", "dseq", "gseq", "oseq", "provider"}
)

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
		name, anyGlobal := readGroup(item, jsonKeys, def, workloads)
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
	spec := root.Require("spec").SpelledMapping(specKeys)
	def.Lease = readLeaseID(spec.Require("lease_id"))
	readGroup(spec.Require("group"), objectKeys, def, workloads)
	check(c.Document(), workloads, def)
	return def
}

func readLeaseID(c document.Cursor) lease.ID {
	m := c.SpelledMapping(leaseIDKeys)
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
	e := lease.Expose{At: c.At(), Global: m.Get(keys.expose[keyGlobal]).Bool()}
	m.Require(keys.expose[keyPort])
	e.Port = readPort(m.Get(keys.expose[keyPort]), true)
	if as := m.Get(keys.expose[keyExternalPort]); as.Raw() != "0" {
		e.As = readPort(as, true)
		e.SaysAs = workloads && e.As != 0 && e.As == e.Port
	}
	if workloads {
		e.Peer = m.Get(keys.expose[keyService]).Word()
		n, _ := m.Get(keys.expose[keySequence]).Uint(0, math.MaxUint32, "a number")
		e.Sequence = uint32(n)
	}
	e.Protocol = readProtocol(m.Get(keys.expose[keyProto]), true)
	for item := range m.Get(keys.expose[keyHosts]).List() {
		refuseWildcard(item, item.Word())
		e.Hosts = append(e.Hosts, lease.Host{Name: item.Raw(), At: item.At()})
	}
	ip := m.Get(keys.expose[keyIP])
	e.IP, e.IPAt = ip.Word(), ip.At()
	options := m.Get(keys.expose[keyHTTP]).SpelledMapping(keys.http)
	if options.Present() {
		readOptions(options, keys.http[0], keys.http[1:6], &e)
	}
	return e
}

// The index of each service key in a spelling.
const (
	keyImage = iota + 1
	keyCommand
	keyArgs
	keyEnv
	keyResources
	keyCount
	_
	keyParams
	keyCredentials
	keyScheduler
)

var (
	unitKeys          = []string{"id", "cpu", "memory", "storage", "gpu", "endpoints"}
	amountKeys        = []string{"units", "attributes"}
	sizeKeys          = []string{"size", "quantity", "attributes"}
	manifestVolume    = []string{"name", "size", "quantity", "attributes"}
	attributeKeys     = []string{"key", "value"}
	valueKeys         = []string{"val"}
	manifestParams    = []string{"storage", "permissions"}
	manifestMount     = []string{"name", "mount", "readOnly"}
)

// readManifestWorkload reads the workload of a manifest's service.
func readManifestWorkload(m document.Mapping, keys spelling, s lease.Service) lease.Workload {
	w := lease.Workload{
		Name: s.Name, At: s.At, Image: m.Get(keys.service[keyImage]).Word(),
		Command: readTexts(m.Get(keys.service[keyCommand]).List()), Args: readTexts(m.Get(keys.service[keyArgs]).List()),
		Env:         readTexts(m.Get(keys.service[keyEnv]).List()),
		Resources:   readManifestResources(m.Require(keys.service[keyResources])),
		Params:      readManifestParams(m.Get(keys.service[keyParams])),
		Credentials: ReadCredentials(m.Get(keys.service[keyCredentials]), true),
		Scheduler:   ReadSchedulerParams(m.Get(keys.service[keyScheduler])),
	}
	n, _ := m.Get(keys.service[keyCount]).Uint(0, math.MaxUint32, "a count")
	w.Count = uint32(n)
	return w
}

// readManifestResources reads a resource unit. Amounts are {"val": "100"} in JSON, and plain numbers or texts in an
// object.
func readManifestResources(c document.Cursor) resources.Resources {
	m := c.SpelledMapping(unitKeys)
	cpu, memory := m.Get("cpu").SpelledMapping(amountKeys), m.Get("memory").SpelledMapping(sizeKeys)
	gpu := m.Get("gpu").SpelledMapping(amountKeys)
	id, _ := m.Require("id").Uint(1, math.MaxUint32, "the number of a resource unit")
	out := resources.Resources{
		ID: uint32(id), CPU: readAmount(cpu.Get("units")), CPUAttributes: readAttributeList(cpu.Get("attributes")),
		Memory: readSize(memory), MemoryAttributes: readAttributeList(memory.Get("attributes")),
		GPU: resources.GPU{Units: readAmount(gpu.Get("units")), Attributes: readAttributeList(gpu.Get("attributes"))},
	}
	for item := range m.Get("storage").List() {
		vm := item.SpelledMapping(manifestVolume)
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
	m := c.Mapping(manifestParams)
	if !m.Present() {
		return nil
	}
	params := &lease.Params{}
	for item := range m.Get("storage").List() {
		sm := item.SpelledMapping(manifestMount)
		params.Storage = append(params.Storage, lease.Mount{
			Volume: sm.Get("name").Word(), Path: sm.Get("mount").Word(), ReadOnly: sm.Get("readOnly").Bool(), At: item.At(),
		})
	}
	slices.SortStableFunc(params.Storage, lease.Mount.Compare)
	if pm := m.Get("permissions").Mapping(permissionKeys); pm.Present() {
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
