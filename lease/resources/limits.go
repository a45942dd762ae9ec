package resources

import (
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

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
var gibibytes = regexp.MustCompile(`^[1-9][0-9]*Gi$`)

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
		case name == "ram" && !gibibytes.MatchString(value):
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
