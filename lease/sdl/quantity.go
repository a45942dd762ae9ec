package sdl

import (
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

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
