package sdl

import (
	"math"
	"strconv"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
)

// The least that Akash's chain accepts of a resource unit (chain-sdk: the deployment module's
// validation). The maxima change with the chain and are not judged.
const (
	minCPU     = 10 // thousandths of a CPU
	minMemory  = 1 << 20
	minStorage = 5 << 20
)

// compute is a compute profile: its quantities, and where they stand. Only those of profiles in
// use must reach the minima.
type compute struct {
	at          lease.Place
	problems    *lease.Problems
	cpu, memory quantity
	storage     []quantity
	judged      bool
}

type quantity struct {
	value uint64
	at    lease.Place
	// given is true for a value that was there, bad for one that could not be read.
	given, bad bool
}

var (
	profilesKeys  = []string{"compute", "placement"}
	computeKeys   = []string{"resources"}
	resourcesKeys = []string{"cpu", "memory", "storage", "gpu"}
	unitsKeys     = []string{"units", "attributes"}
	memoryKeys    = []string{"size", "attributes"}
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
	out := &compute{at: c.At(), problems: &c.Document().Problems}
	resources := c.Mapping(computeKeys).Get("resources").Mapping(resourcesKeys)
	out.cpu = readQuantity(resources.Get("cpu").StrictMapping(unitsKeys).Get("units"), parseCPU, "a number of CPUs such as 0.5 or 500m")
	out.memory = readQuantity(resources.Get("memory").Mapping(memoryKeys).Get("size"), parseBytes, "a size such as 512Mi")
	readQuantity(resources.Get("gpu").StrictMapping(unitsKeys).Get("units"), parseCount, "a number of GPUs")
	if storage := resources.Get("storage"); storage.IsMapping() {
		out.storage = append(out.storage, readStorage(storage))
	} else {
		for item := range storage.List() {
			out.storage = append(out.storage, readStorage(item))
		}
	}
	return out
}

func readStorage(c document.Cursor) quantity {
	q := readQuantity(c.Mapping(storageKeys).Get("size"), parseBytes, "a size such as 512Mi")
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
	switch {
	case ok || !c.IsScalar():
	case negative:
		c.Errorf("the quantity %s is negative", text)
	default:
		c.Errorf("%q is not %s", text, what)
	}
	return quantity{value: value, at: c.At(), given: true, bad: !ok}
}

// judge holds the quantities of a profile in use against the chain's minima, once.
func (c *compute) judge() {
	if c.judged {
		return
	}
	c.judged = true
	least := func(q quantity, minimum uint64, what, text string) {
		switch {
		case q.bad:
		case !q.given:
			c.problems.Add(c.at, "%s is missing", what)
		case q.value < minimum:
			c.problems.Add(q.at, "%s is less than %s, the least that Akash accepts", what, text)
		}
	}
	least(c.cpu, minCPU, "cpu units", "10m")
	least(c.memory, minMemory, "the memory size", "1Mi")
	if len(c.storage) == 0 {
		c.problems.Add(c.at, "storage is missing")
	}
	for _, q := range c.storage {
		least(q, minStorage, "the storage size", "5Mi")
	}
}

// parseCPU reads CPUs as thousandths: 0.5 or 500m (chain-sdk: go/sdl/units.go).
func parseCPU(s string) (uint64, bool) {
	if m, ok := strings.CutSuffix(s, "m"); ok {
		n, err := strconv.ParseUint(m, 10, 32)
		return n, err == nil
	}
	return scale(s, 1000, math.MaxUint32)
}

func parseCount(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil
}

// parseBytes reads a size with an optional decimal (k, M, G, …) or binary (Ki, Mi, …) suffix.
func parseBytes(s string) (uint64, bool) {
	const letters = "kMGTPE"
	base, number := 1000.0, s
	if n, ok := strings.CutSuffix(s, "i"); ok {
		base, number = 1024, n
	}
	if number == "" {
		return 0, false
	}
	letter := number[len(number)-1]
	if base == 1024 && letter == 'K' {
		letter = 'k'
	} else if base == 1024 && letter == 'k' {
		return 0, false
	}
	power := strings.IndexByte(letters, letter)
	if power < 0 {
		if base == 1024 {
			return 0, false
		}
		return scale(s, 1, math.MaxUint64)
	}
	return scale(number[:len(number)-1], math.Pow(base, float64(power+1)), math.MaxUint64)
}

func scale(s string, by, most float64) (uint64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.Signbit(f) && f != 0 || f*by >= most {
		return 0, false
	}
	return uint64(f * by), true
}
