package sdl

import (
	"math"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

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
	schedulerKeys     = []string{"runtime_class", "resources"}
	schedulerGPUKeys  = []string{"gpu"}
	schedulerCardKeys = []string{"vendor", "model", "memory_size", "interface"}
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
	m := c.SpelledMapping(schedulerKeys)
	if !m.Present() {
		return nil
	}
	out := &lease.SchedulerParams{RuntimeClass: m.Get("runtime_class").Word()}
	if gpu := m.Get("resources").SpelledMapping(schedulerGPUKeys).Get("gpu").SpelledMapping(schedulerCardKeys); gpu.Present() {
		out.GPU = &lease.SchedulerGPU{
			Vendor: gpu.Get("vendor").Word(), Model: gpu.Get("model").Word(),
			MemorySize: gpu.Get("memory_size").Word(), Interface: gpu.Get("interface").Word(),
		}
	}
	return out
}
