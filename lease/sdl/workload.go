package sdl

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
	"github.com/akash-net/kubectl-akash-net/lease/suggest"
)

var (
	paramsKeys     = []string{"storage", "permissions", "tee"}
	mountKeys      = []string{"mount", "readOnly"}
	permissionKeys = []string{"read"}
)

// CredentialsKeys are the keys of credentials in all formats.
var CredentialsKeys = []string{"host", "email", "username", "password"}

// readWorkloads reads the workloads of a placement. Resource units are numbered by the names of the services; since SDL
// 2.1, services with the same compute profile share a unit (chain-sdk: go/sdl/groupBuilder_v2.go,
// groupBuilder_v2_1.go).
func (r *reader) readWorkloads(place string) *lease.Workloads {
	w := &lease.Workloads{Group: place}
	ids, next := map[string]uint32{}, uint32(0)
	for _, name := range slices.Sorted(slices.Values(r.groups[place])) {
		s, in := r.services[name], r.placements[[2]string{place, name}]
		profile := r.computes[in.profile]
		if s == nil || profile == nil {
			continue // reported already
		}
		one := r.readWorkload(s)
		one.Name, one.Count = name, in.count
		one.Resources = profile.resources()
		if !r.shared && (one.Params == nil || len(one.Params.Storage) == 0) && slices.ContainsFunc(one.Resources.Volumes, resources.Volume.Persistent) {
			s.cursor.Errorf("service %q has persistent storage and mounts nothing; SDL 2.0 does not allow that", name)
		}
		id, known := ids[in.profile]
		if !known || !r.shared {
			next++
			id = next
			ids[in.profile] = id
		}
		one.Resources.ID = id
		w.Services = append(w.Services, one)
	}
	return w
}

// numberEndpoints sets the sequences of IP endpoints as Akash does (chain-sdk: computeEndpointSequenceNumbers): it
// sorts the endpoint names of all "to" with repeats, where a "to" that names only a service counts as "". The sequence
// of an endpoint is the position of its last occurrence.
func (r *reader) numberEndpoints() {
	if !r.workloads {
		return
	}
	var names []string
	for _, s := range r.services {
		for _, to := range s.named {
			if s.deployed && (!to.global || to.ip != "") {
				names = append(names, to.ip)
			}
		}
	}
	slices.Sort(names)
	numbers := map[string]uint32{}
	for i, name := range names {
		numbers[name] = uint32(i) + 1
	}
	for _, s := range r.services {
		for i := range s.exposes {
			if e := &s.exposes[i]; e.IP != "" && e.Global {
				e.Sequence = numbers[e.IP]
			}
		}
	}
}

func (r *reader) readWorkload(s *service) lease.Workload {
	m := s.cursor.Mapping(serviceKeys)
	out := lease.Workload{
		At: s.at, Image: m.Get("image").Word(),
		Command: readTexts(m.Get("command").Items()), Args: readTexts(m.Get("args").Items()), Env: readTexts(m.Get("env").Items()),
		Params: readParams(m.Get("params")),
	}
	if out.Credentials = ReadCredentials(m.Get("credentials"), true); out.Credentials != nil {
		if k := out.Credentials; r.shared {
			k.Host, k.Email = strings.TrimSpace(k.Host), strings.TrimSpace(k.Email)
			k.Username, k.Password = strings.TrimSpace(k.Username), strings.TrimSpace(k.Password)
		} else {
			k.Email = ""
		}
	}
	return out
}

func readTexts(items iter.Seq[document.Cursor]) []string {
	var out []string
	for item := range items {
		out = append(out, item.Word())
	}
	return out
}

// readParams reads mounts and permissions. The param "tee" is unknown to the provider version that this program follows
// (chain-sdk go/sdl v0.2.2).
func readParams(c document.Cursor) *lease.Params {
	m := c.Mapping(paramsKeys)
	if !m.Present() {
		return nil
	}
	if tee := m.Get("tee"); !tee.IsNull() {
		tee.Warnf("\"tee\" is ignored: nothing is rendered for it")
	}
	params := &lease.Params{}
	for key, v := range m.Get("storage").AnyMapping().Entries() {
		sm := v.Mapping(mountKeys)
		params.Storage = append(params.Storage, lease.Mount{
			Volume: key.Key(), Path: sm.Get("mount").Word(), ReadOnly: sm.Get("readOnly").Bool(), At: key.At(),
		})
	}
	slices.SortStableFunc(params.Storage, lease.Mount.Compare)
	if pm := m.Get("permissions").Mapping(permissionKeys); pm.Present() {
		params.Permissions = &lease.Permissions{Read: readTexts(pm.Get("read").Items())}
	}
	return params
}

// ReadCredentials reads registry credentials. Akash's formats require a password. Messages never contain any of the
// values.
func ReadCredentials(c document.Cursor, needPassword bool) *lease.Credentials {
	if c.IsNull() {
		return nil
	}
	if !c.IsMapping() {
		c.Errorf("credentials are a mapping with host, username and password")
		return nil
	}
	m := c.AnyMapping()
	for key := range m.Entries() {
		if word := key.Key(); !slices.Contains(CredentialsKeys, word) {
			note := c.Warnf
			if c.Document().Strict {
				note = c.Errorf
			}
			note("credentials have an unknown key%s; host, email, username and password are known", suggest.For(word, CredentialsKeys))
		}
	}
	secret := func(key string) string {
		v := m.Get(key)
		if !v.IsNull() && !v.IsScalar() {
			v.Errorf("expected a text")
		}
		return v.Raw()
	}
	k := &lease.Credentials{Host: secret("host"), Email: secret("email"), Username: secret("username"),
		Password: secret("password"), At: c.At()}
	if needPassword && strings.TrimSpace(k.Password) == "" {
		c.Errorf("the credentials have no password")
	}
	return k
}

// resources returns the resources of one replica (chain-sdk: go/sdl/cpu.go, gpu.go, memory.go, storage.go). It
// validates the chain's maxima; checkMinima has already reported values below the minima.
func (c *compute) resources() resources.Resources {
	m := c.cursor.Mapping(computeKeys).Get("resources").Mapping(resourcesKeys)
	cpu, memory, storage := m.Get("cpu").StrictMapping(unitsKeys), m.Get("memory").Mapping(memoryKeys), m.Get("storage")
	out := resources.Resources{
		CPU: c.cpu.value, CPUAttributes: readCPUAttributes(cpu.Get("attributes")),
		Memory: c.memory.value,
		GPU:    readGPU(m.Get("gpu")),
	}
	if out.CPU >= resources.MinCPU {
		cpu.Get("units").Report(resources.CheckCPU(out.CPU))
	}
	if out.Memory >= resources.MinMemory {
		memory.Get("size").Report(resources.CheckMemory(out.Memory))
	}
	if storage.IsMapping() {
		v := readVolume(storage)
		v.Name = resources.DefaultVolume
		out.Volumes = []resources.Volume{v}
		return out
	}
	for item := range storage.List() {
		out.Volumes = append(out.Volumes, readVolume(item))
	}
	sortVolumes(out.Volumes)
	return out
}

func readVolume(c document.Cursor) resources.Volume {
	m := c.Mapping(storageKeys)
	size, _ := resources.ParseBytes(m.Get("size").Raw())
	v := resources.Volume{Name: cmp.Or(m.Get("name").Word(), resources.DefaultVolume), Size: size}
	if size >= resources.MinVolume {
		m.Get("size").Report(resources.CheckVolume(size))
	}
	if v.Attributes = readVolumeAttributes(m.Get("attributes")); v.Attributes != nil {
		m.Get("attributes").Report(resources.CheckVolumeAttributes(v))
	}
	return v
}

// readVolumeAttributes fills in what Akash's library does: a volume that has attributes is persistent or not, and
// one that is persistent has a class. The library looks at the word before it reads it as a truth value, so "yes" gets no
// class, and "no" does not go with memory.
func readVolumeAttributes(c document.Cursor) []resources.Attribute {
	m := c.AnyMapping()
	if !m.Present() {
		return nil
	}
	values := map[string]string{resources.AttributePersistent: "false"}
	for key, v := range m.Entries() {
		values[key.Key()] = v.Word()
	}
	word, class := values[resources.AttributePersistent], values[resources.AttributeClass]
	truth, known := truths[word]
	switch {
	case word == "true" && class == "":
		values[resources.AttributeClass] = resources.ClassDefault
	case class == resources.ClassRAM && truth == "false" && word != truth:
		m.Get(resources.AttributePersistent).Errorf("Akash takes %q with the class ram for persistent; write false", word)
	}
	if known {
		values[resources.AttributePersistent] = truth
	}
	return attributes(values)
}

// truths are the spellings of booleans that Akash's library accepts (chain-sdk: unifyStringAsBool).
var truths = map[string]string{"true": "true", "on": "true", "yes": "true", "false": "false", "off": "false", "no": "false"}

func attributes(values map[string]string) []resources.Attribute {
	var out []resources.Attribute
	for _, key := range slices.Sorted(maps.Keys(values)) {
		out = append(out, resources.Attribute{Key: key, Value: values[key]})
	}
	return out
}

// cpuAttributes are the attributes of CPUs that Akash knows (chain-sdk: go/sdl/cpu.go).
var cpuAttributes = []string{"arch"}

func readCPUAttributes(c document.Cursor) []resources.Attribute {
	values := map[string]string{}
	for key, v := range c.StrictMapping(cpuAttributes).Entries() {
		values[key.Key()] = v.Word()
	}
	return attributes(values)
}

// sortVolumes sorts volumes as Akash's library does: by size, then those without the attribute "persistent", then those
// that are not persistent, then persistent ones by name. The library's comparison is not consistent for equal volumes
// that are not persistent, which reverses their order.
func sortVolumes(volumes []resources.Volume) {
	rank := func(v resources.Volume) int {
		switch v.Attribute(resources.AttributePersistent) {
		case "":
			return 0
		case "false":
			return 1
		}
		return 2
	}
	slices.Reverse(volumes)
	slices.SortStableFunc(volumes, func(a, b resources.Volume) int {
		order := cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(rank(a), rank(b)))
		if order == 0 && a.Persistent() {
			order = cmp.Compare(a.Name, b.Name)
		}
		return order
	})
}

// compute is a compute profile: its quantities with their positions. The minima apply only to profiles in use. The
// maxima depend on the chain and are validated only when workloads are read.
type compute struct {
	cursor      document.Cursor
	at          lease.Place
	problems    *lease.Problems
	cpu, memory quantity
	storage     []quantity
	checked     bool
}

type quantity struct {
	value uint64
	// size is the text of a size.
	size string
	at   lease.Place
	// given is true if the value is present, bad if it is invalid.
	given, bad bool
}

var (
	profilesKeys  = []string{"compute", "placement"}
	computeKeys   = []string{"resources"}
	resourcesKeys = []string{"cpu", "memory", "storage", "gpu"}
	unitsKeys     = []string{"units", "attributes"}
	memoryKeys    = []string{"size"} // Akash does not read attributes of memory
	storageKeys   = []string{"name", "size", "attributes"}
	placeKeys     = []string{"attributes", "signedBy", "pricing"}
)

func (r *reader) readProfiles(c document.Cursor) {
	m := c.Mapping(profilesKeys)
	for _, v := range m.Get("compute").AnyMapping().Entries() {
		r.computes[v.Key()] = readCompute(v)
	}
	for _, v := range m.Get("placement").AnyMapping().Entries() {
		v.Mapping(placeKeys)
		r.places[v.Key()] = true
	}
}

func readCompute(c document.Cursor) *compute {
	out := &compute{cursor: c, at: c.At(), problems: &c.Document().Problems}
	m := c.Mapping(computeKeys).Get("resources").Mapping(resourcesKeys)
	out.cpu = readQuantity(m.Get("cpu").StrictMapping(unitsKeys).Get("units"), resources.ParseCPU,
		"a number of CPUs such as 0.5 or 500m")
	out.memory = readQuantity(m.Get("memory").Mapping(memoryKeys).Get("size"), resources.ParseBytes, aSize)
	readQuantity(m.Get("gpu").RepeatingMapping(unitsKeys, gpuRepeats).Get("units"), resources.ParseCount, "a number of GPUs")
	if storage := m.Get("storage"); storage.IsMapping() {
		out.storage = append(out.storage, readStorage(storage))
	} else {
		for item := range storage.List() {
			out.storage = append(out.storage, readStorage(item))
		}
	}
	return out
}

func readStorage(c document.Cursor) quantity {
	q := readQuantity(c.Mapping(storageKeys).Get("size"), resources.ParseBytes, aSize)
	if !q.given {
		q.at = c.At()
	}
	return q
}

func readQuantity(c document.Cursor, parse func(string) (uint64, bool), what string) quantity {
	if c.IsNull() {
		return quantity{at: c.At()}
	}
	text := c.Word()
	value, ok := parse(text)
	_, negative := parse(strings.TrimPrefix(text, "-"))
	q := quantity{value: value, at: c.At(), given: true, bad: !ok}
	if what == aSize {
		q.size = text
	}
	switch {
	case ok || !c.IsScalar():
	case negative:
		c.Errorf("the quantity %s is negative", text)
	default:
		c.Errorf("%q is not %s%s", text, what, resources.HintSize(q.size, 0))
	}
	return q
}

// aSize says what a size looks like.
const aSize = "a size such as 512Mi"

// checkMinima validates the quantities of a profile in use against the chain's minima, once.
func (c *compute) checkMinima() {
	if c.checked {
		return
	}
	c.checked = true
	least := func(q quantity, minimum uint64, what, text string) {
		switch {
		case q.bad:
		case !q.given:
			c.problems.Add(c.at, "%s is missing", what)
		case q.value < minimum:
			c.problems.Add(q.at, "%s is less than %s, the least that Akash accepts%s", what, text, resources.HintSize(q.size, minimum))
		}
	}
	least(c.cpu, resources.MinCPU, "cpu units", "10m")
	least(c.memory, resources.MinMemory, "the memory size", "1Mi")
	if len(c.storage) == 0 {
		c.problems.Add(c.at, "storage is missing")
	}
	for _, q := range c.storage {
		least(q, resources.MinVolume, "the storage size", "5Mi")
	}
}
