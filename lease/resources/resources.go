// Package resources describes the resources of a deployment group: CPU, memory, GPUs, volumes and endpoints, as an
// order requests them and a reservation holds them. Amounts are integers in base units: thousandths of a CPU, bytes,
// whole GPUs.
package resources

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akash-net/kubectl-akash-net/lease/lazy"
)

// Group is the request of a deployment group (chain-sdk: the deployment module's GroupSpec).
type Group struct {
	// Name is the placement's name in the SDL.
	Name string `json:"name"`
	// Units are in the order of the SDL's services. Reservations place them from the last to the first.
	Units []Unit `json:"resources"`
}

// Unit is the resources of one replica, and the number of replicas.
type Unit struct {
	Resources
	// Count is the number of replicas of all services that share the unit.
	Count uint32 `json:"count"`
}

// Resources are the resources of one replica of a service.
type Resources struct {
	// ID is the number of the unit in its group, from 1.
	ID uint32 `json:"id"`
	// CPU is in thousandths of a CPU, Memory in bytes.
	CPU    uint64 `json:"cpu"`
	Memory uint64 `json:"memory"`
	GPU    GPU    `json:"gpu"`
	// Volumes are in the order of Akash's manifest.
	Volumes   []Volume   `json:"storage,omitempty"`
	Endpoints []Endpoint `json:"endpoints,omitempty"`
	// CPUAttributes and MemoryAttributes are copied to the manifest; nothing else reads them.
	CPUAttributes    []Attribute `json:"cpuAttributes,omitempty"`
	MemoryAttributes []Attribute `json:"memoryAttributes,omitempty"`
}

// GPU is a number of GPUs, all of one of the accepted models.
type GPU struct {
	Units uint64 `json:"units"`
	// Attributes are the accepted models, such as vendor/nvidia/model/a100/ram/80Gi; the value is always "true".
	Attributes []Attribute `json:"attributes,omitempty"`
}

// Attribute is a key with a value. The chain stores attributes as a list sorted by key.
type Attribute struct {
	Key   string `json:"key" doc:"@key"`
	Value string `json:"value" doc:"@text"`
}

// Compare orders attributes by key.
func (a Attribute) Compare(other Attribute) int { return strings.Compare(a.Key, other.Key) }

// The attributes of a volume, and the classes with a special meaning.
const (
	AttributeClass      = "class"
	AttributePersistent = "persistent"
	// ClassRAM is a volume in the node's memory.
	ClassRAM = "ram"
	// ClassDefault is the cluster's default StorageClass.
	ClassDefault = "default"
)

// DefaultVolume is the name of a volume that has no name in the SDL.
const DefaultVolume = "default"

// Volume is a volume of one replica.
type Volume struct {
	Name string `json:"name"`
	// Size is in bytes.
	Size       uint64      `json:"size"`
	Attributes []Attribute `json:"attributes,omitempty"`
}

// Attribute returns the value of an attribute, or "".
func (v Volume) Attribute(key string) string {
	for _, a := range v.Attributes {
		if a.Key == key {
			return a.Value
		}
	}
	return ""
}

// Class returns the storage class, or "" for storage on the node's disk.
func (v Volume) Class() string { return v.Attribute(AttributeClass) }

// Persistent reports whether the volume outlives its pod.
func (v Volume) Persistent() bool { return v.Attribute(AttributePersistent) == "true" }

// InMemory reports whether the volume is in the node's memory.
func (v Volume) InMemory() bool { return v.Class() == ClassRAM && !v.Persistent() }

// Ephemeral reports whether the volume is on the node's disk and is deleted with its pod.
func (v Volume) Ephemeral() bool { return !v.Persistent() && v.Class() != ClassRAM }

// EndpointKind is how a port is reached from outside the cluster.
type EndpointKind uint8

// The kinds of endpoint, with the chain's numbers.
const (
	SharedHTTP EndpointKind = iota
	RandomPort
	LeasedIP
)

var endpointKinds = [...]string{"SHARED_HTTP", "RANDOM_PORT", "LEASED_IP"}

// String returns the chain's name of the kind.
func (k EndpointKind) String() string {
	if int(k) < len(endpointKinds) {
		return endpointKinds[k]
	}
	return "UNKNOWN"
}

// MarshalText returns the chain's name of the kind.
func (k EndpointKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Endpoint is a port that is reached from outside the cluster.
type Endpoint struct {
	Kind EndpointKind `json:"kind"`
	// Sequence distinguishes the leased addresses of a deployment; 0 for the other kinds.
	Sequence uint32 `json:"sequence,omitempty"`
}

// The limits of Akash's chain for a resource unit and a group (chain-sdk: validation of the deployment module).
const (
	MinCPU    = 10
	MaxCPU    = 384_000
	MinMemory = 1 << 20
	MaxMemory = 2 << 40
	MinVolume = 5 << 20
	MaxVolume = 32 << 40
	MaxGPU    = 24
	// A group takes at most fifty times what one unit may (Akash's validation knows limits of replicas, units and groups too,
	// but does not apply them).
	MaxGroupCPU    = 50 * MaxCPU
	MaxGroupMemory = 50 * MaxMemory
	MaxGroupGPU    = 50 * MaxGPU
)

// CheckTotals returns an error if a group takes more in total than Akash accepts.
func CheckTotals(units []Unit) error {
	var cpu, memory, gpu uint64
	for _, u := range units {
		cpu, memory, gpu = addTimes(cpu, u.CPU, u.Count), addTimes(memory, u.Memory, u.Count), addTimes(gpu, u.GPU.Units, u.Count)
	}
	switch {
	case cpu > MaxGroupCPU:
		return fmt.Errorf("the group takes %s of CPU in all; Akash accepts %s", FormatCPU(cpu), FormatCPU(MaxGroupCPU))
	case memory > MaxGroupMemory:
		return fmt.Errorf("the group takes %s of memory in all; Akash accepts %s", FormatBytes(memory), FormatBytes(MaxGroupMemory))
	case gpu > MaxGroupGPU:
		return fmt.Errorf("the group takes %d GPUs in all; Akash accepts %d", gpu, MaxGroupGPU)
	}
	return nil
}

// addTimes returns sum plus count times each, or the largest number if that is more.
func addTimes(sum, each uint64, count uint32) uint64 {
	high, low := bits.Mul64(each, uint64(count))
	sum, carry := bits.Add64(sum, low, 0)
	if high+carry > 0 {
		return math.MaxUint64
	}
	return sum
}

// CheckCPU returns an error if a replica cannot have that many thousandths of a CPU.
func CheckCPU(milli uint64) error {
	if milli < MinCPU || milli > MaxCPU {
		return fmt.Errorf("%s of CPU is not what Akash accepts (10m to 384)", FormatCPU(milli))
	}
	return nil
}

// CheckMemory returns an error if a replica cannot have that many bytes of memory.
func CheckMemory(bytes uint64) error {
	if bytes < MinMemory || bytes > MaxMemory {
		return fmt.Errorf("%s of memory is not what Akash accepts (1Mi to 2Ti)", FormatBytes(bytes))
	}
	return nil
}

// CheckVolume returns an error if a volume cannot have that many bytes.
func CheckVolume(bytes uint64) error {
	if bytes < MinVolume || bytes > MaxVolume {
		return fmt.Errorf("a volume of %s is not what Akash accepts (5Mi to 32Ti)", FormatBytes(bytes))
	}
	return nil
}

// CheckVolumeAttributes returns an error if the attributes of a volume are invalid or contradict each other. These are
// Akash's rules (chain-sdk: go/sdl/storage.go).
func CheckVolumeAttributes(v Volume) error {
	for _, a := range v.Attributes {
		switch {
		case a.Key != AttributeClass && a.Key != AttributePersistent:
			return fmt.Errorf("unknown attribute %q of a volume; class and persistent are known", clip(a.Key))
		case a.Key == AttributePersistent && a.Value != "true" && a.Value != "false":
			return fmt.Errorf("persistent is %q; true and false are known", clip(a.Value))
		case a.Key == AttributeClass && len(validation.IsDNS1123Subdomain(a.Value)) > 0:
			return fmt.Errorf("%q is not the name of a storage class", clip(a.Value))
		case a.Key == AttributeClass && len(a.Value) > maxClass:
			return fmt.Errorf("the class %q is too long: nodes tell by a label whether they have it, with at most %d characters of a "+
				"class", clip(a.Value), maxClass)
		}
	}
	switch class := v.Class(); {
	case class == ClassRAM && v.Persistent():
		return fmt.Errorf("a volume in memory (class ram) cannot be persistent")
	case class == "" && v.Persistent():
		return fmt.Errorf("a persistent volume needs a class; default is the cluster's own")
	case class != "" && class != ClassRAM && !v.Persistent():
		return fmt.Errorf("the class %q is for persistent volumes; write persistent: true", clip(class))
	}
	return nil
}

// maxClass is the length that a label value of 63 characters leaves for the class after capabilities.storage.class.
const maxClass = validation.LabelValueMaxLength - len("capabilities.storage.class.")

// MaxModel returns the length that a label value of 63 characters leaves for a GPU model after
// capabilities.gpu.vendor.VENDOR.model.
func MaxModel(vendor string) int {
	return validation.LabelValueMaxLength - len("capabilities.gpu.vendor."+vendor+".model.")
}

// The GPU vendors that have extended resources and node labels.
const (
	VendorNVIDIA = "nvidia"
	VendorAMD    = "amd"
)

// gibibytes matches the memory of a GPU in an attribute.
var gibibytes = lazy.Pattern(`^[1-9][0-9]*Gi$`)

// CheckWish returns an error if the key of a GPU attribute is not vendor/<v>/model/<m>[/ram/<n>Gi][/interface/<i>].
func CheckWish(key string) error {
	parts := strings.Split(key, "/")
	bad := fmt.Errorf("%q is not a wish for GPUs such as vendor/nvidia/model/a100 or "+
		"vendor/nvidia/model/a100/ram/80Gi/interface/sxm", clip(key))
	if len(parts) < 4 || len(parts)%2 != 0 || parts[0] != "vendor" || parts[2] != "model" {
		return bad
	}
	switch vendor, model := parts[1], parts[3]; {
	case vendor != VendorNVIDIA && vendor != VendorAMD:
		return fmt.Errorf("there are no GPUs of the vendor %q; nvidia and amd are known", clip(vendor))
	case model != "*" && (len(validation.IsValidLabelValue(model)) > 0 || model == "" || len(model) > MaxModel(vendor)):
		return fmt.Errorf("%q is not the model of a GPU (letters, digits, \"-\", \"_\" and \".\", at most %d)", clip(model),
			MaxModel(vendor))
	}
	for i := 4; i < len(parts); i += 2 {
		switch name, value := parts[i], parts[i+1]; {
		case i == 6 && name == parts[4] || i > 6 || value == "" || name != "ram" && name != "interface":
			return bad
		case name == "ram" && !gibibytes().MatchString(value):
			return fmt.Errorf("%q is not the memory of a GPU in whole gibibytes, such as 80Gi", clip(value))
		case name == "interface" && value != "pcie" && value != "sxm":
			return fmt.Errorf("%q is not an interface of GPUs; pcie and sxm are known", clip(value))
		}
	}
	return nil
}

// CheckGPU returns an error if a replica cannot have the GPUs. The attributes must be sorted by key.
func CheckGPU(g GPU) error {
	if g.Units > MaxGPU {
		return fmt.Errorf("%d GPUs are more than Akash accepts (%d)", g.Units, MaxGPU)
	}
	if g.Units > 0 && len(g.Attributes) == 0 {
		return fmt.Errorf("%d GPUs, but no attributes that say which; vendor/nvidia/model/* is any of NVIDIA", g.Units)
	}
	for i, a := range g.Attributes {
		if err := CheckWish(a.Key); err != nil {
			return err
		}
		if a.Value != "true" {
			return fmt.Errorf("the attribute %q is %q; a wish for GPUs is always \"true\"", clip(a.Key), clip(a.Value))
		}
		if i > 0 && g.Attributes[i-1].Key == a.Key {
			return fmt.Errorf("the attribute %q is given twice", clip(a.Key))
		}
	}
	if g.Units == 0 && len(g.Attributes) > 0 {
		return fmt.Errorf("attributes of GPUs, but no units that say how many")
	}
	return nil
}

// clip shortens a value for a message.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// ParseCPU reads CPUs, such as 0.5 or 500m, as thousandths (chain-sdk: go/sdl/units.go).
func ParseCPU(s string) (uint64, bool) {
	if m, ok := strings.CutSuffix(s, "m"); ok {
		return whole(m, 32)
	}
	return scale(s, 1000, math.MaxUint32)
}

// FormatCPU returns the shortest text that ParseCPU reads as milli.
func FormatCPU(milli uint64) string {
	if milli%1000 == 0 {
		return strconv.FormatUint(milli/1000, 10)
	}
	return strconv.FormatUint(milli, 10) + "m"
}

// letters are the suffixes of sizes, by increasing power.
const letters = "kMGTPE"

// ParseBytes reads a size with an optional decimal (k, M, G, …) or binary (Ki, Mi, …) suffix. It truncates fractions of
// a byte.
func ParseBytes(s string) (uint64, bool) {
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

// SuggestBytes returns sizes that mean what a text probably does that ParseBytes does not read: for 16GB it returns 16G and
// 16Gi, for 16mi it returns 16Mi. It returns nil if it knows none.
func SuggestBytes(s string) []string {
	m := looseSize().FindStringSubmatch(s)
	if m == nil {
		return nil
	}
	letter := strings.ToUpper(m[2])
	var out []string
	for _, text := range []string{m[1] + strings.Replace(letter, "K", "k", 1), m[1] + letter + "i"} {
		if _, ok := ParseBytes(text); ok && (m[3] == "" || strings.HasSuffix(text, "i")) {
			out = append(out, text)
		}
	}
	return out
}

var looseSize = lazy.Pattern(`^\s*([0-9]+(?:\.[0-9]+)?)\s*([kKmMgGtTpPeE])([iI]?)[bB]?\s*$`)

// HintSize returns the sizes that a text probably means that is no size, or one of less than least bytes, as the end of a
// message: for 16GB it returns ; write "16G" or "16Gi", for 512 it returns ; write "512Mi". It returns "" if it knows none.
func HintSize(s string, least uint64) string {
	sizes := SuggestBytes(s)
	if n, ok := ParseBytes(s); ok && n < least {
		sizes = suggestMebibytes(s, least)
	} else if ok {
		sizes = nil
	}
	if len(sizes) == 0 {
		return ""
	}
	return `; write "` + strings.Join(sizes, `" or "`) + `"`
}

// suggestMebibytes returns the number of a text that names too few bytes as mebibytes, unless that is too few or hardly meant.
func suggestMebibytes(s string, least uint64) []string {
	m := smallSize().FindStringSubmatch(s)
	if m == nil {
		return nil
	}
	most := 1 << 16
	if m[2] != "" {
		most = 1000
	}
	number, _ := strconv.ParseFloat(m[1], 64)
	if n, ok := ParseBytes(m[1] + "Mi"); !ok || n < least || number >= float64(most) {
		return nil
	}
	return []string{m[1] + "Mi"}
}

var smallSize = lazy.Pattern(`^([0-9]+(?:\.[0-9]+)?)(k|Ki|M)?$`)

// FormatBytes returns the size with the largest binary suffix that is exact.
func FormatBytes(bytes uint64) string {
	suffix := ""
	for i := 0; bytes > 0 && bytes%1024 == 0 && i < len(letters); i++ {
		bytes /= 1024
		suffix = strings.ToUpper(letters[i:i+1]) + "i"
	}
	return strconv.FormatUint(bytes, 10) + suffix
}

// ParseCount reads a whole number.
func ParseCount(s string) (uint64, bool) { return whole(s, 64) }

// whole reads a whole number of at most the given number of bits.
func whole(s string, bits int) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, bits)
	if err != nil {
		return 0, false
	}
	return n, true
}

// scale reads a decimal number and multiplies it. ok is false if the product is not below most.
func scale(s string, by, most float64) (uint64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.Signbit(f) && f != 0 || f*by >= most {
		return 0, false
	}
	return uint64(f * by), true
}

// Commit returns the part of an amount that is requested from a node if the provider overcommits: the amount divided by
// the level, rounded half away from zero, but at least 1. A level up to 1 changes nothing. It calculates in float64, as
// Akash's provider does (sdl/util), so large amounts lose low bits. Unlike Akash's provider, which makes 0 a 1, it
// leaves 0 unchanged.
func Commit(level float64, amount uint64) uint64 {
	if !(level > 1) || amount == 0 {
		return amount
	}
	// The product is below 2^64, because 1/level is below 1.
	return uint64(max(1, math.Round(float64(amount)*(1/level))))
}
