package inventory

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// gpuRequest is a parsed request for GPUs.
type gpuRequest struct {
	units  uint64
	models []model
	// err is what is wrong with the attributes. Such a request fits no node with GPUs.
	err error
	// text describes the request to people.
	text string
}

// model is a vendor and model of GPUs that a request accepts. ram and iface are empty if any value is accepted.
type model struct{ vendor, name, ram, iface string }

// anyModel matches all models of a vendor.
const anyModel = "*"

// attribute returns the model as an attribute of a group.
func (m model) attribute() string {
	s := "vendor/" + m.vendor + "/model/" + m.name
	if m.ram != "" {
		s += "/ram/" + m.ram
	}
	if m.iface != "" {
		s += "/interface/" + m.iface
	}
	return s
}

// String describes the model to people.
func (m model) String() string {
	s := m.vendor + "/" + m.name
	if m.ram != "" {
		s += " with " + m.ram
	}
	if m.iface != "" {
		s += " on " + m.iface
	}
	return s
}

// parseGPU parses a request for GPUs. If several attributes name the same model, the last one counts.
func parseGPU(g GPU) gpuRequest {
	w := gpuRequest{units: g.Units}
	switch {
	case g.Units == 0:
		return w
	case len(g.Attributes) == 0:
		w.err = errors.New("they name no model; vendor/nvidia/model/* is any of NVIDIA's")
		return w
	}
	for _, a := range g.Attributes {
		m, err := parseModel(a)
		if err != nil {
			return gpuRequest{units: g.Units, err: err}
		}
		w.add(m)
	}
	w.text = w.describe()
	return w
}

func (w *gpuRequest) add(m model) {
	same := func(other model) bool { return other.vendor == m.vendor && other.name == m.name }
	if i := slices.IndexFunc(w.models, same); i >= 0 {
		w.models[i] = m
		return
	}
	w.models = append(w.models, m)
}

// parseModel parses an attribute: vendor and model, then pairs. It ignores unknown pairs.
func parseModel(attribute string) (model, error) {
	parts := strings.Split(attribute, "/")
	if len(parts) < 4 || len(parts)%2 != 0 || parts[0] != "vendor" || parts[2] != "model" {
		return model{}, errors.New(lease.Message("%q is not of the form vendor/<vendor>/model/<model>", attribute))
	}
	m := model{vendor: parts[1], name: parts[3]}
	if m.vendor != "nvidia" && m.vendor != "amd" {
		return model{}, errors.New(lease.Message("%q is no vendor of GPUs; nvidia and amd are known", m.vendor))
	}
	for i := 4; i < len(parts); i += 2 {
		switch value := parts[i+1]; parts[i] {
		case "ram":
			ram, err := wholeGi(value)
			if err != nil {
				return model{}, err
			}
			m.ram = ram
		case "interface":
			if value != "pcie" && value != "sxm" {
				return model{}, errors.New(lease.Message("%q is no interface of GPUs; pcie and sxm are known", value))
			}
			m.iface = value
		}
	}
	return m, nil
}

// binarySize is how Akash writes the memory of a GPU: with a binary suffix, without needless zeros (chain-sdk:
// go/util/units).
var binarySize = regexp.MustCompile(`^([-+]?(?:(?:[1-9]\d*|0)?\.\d*|[1-9]\d*))([KMGTPE])i$`)

// wholeGi rounds a size down to whole Gi, the unit in which Card has it, with floating point as Akash does.
func wholeGi(size string) (string, error) {
	invalid := errors.New(lease.Message("%q is no size of a GPU's memory", size))
	m := binarySize.FindStringSubmatch(size)
	if m == nil || len(size) > 64 {
		return "", invalid
	}
	n, _, err := new(big.Float).Parse(m[1], 10)
	if err != nil {
		return "", invalid
	}
	unit := uint64(1024) << (10 * strings.Index("KMGTPE", m[2]))
	bytes, accuracy := n.Mul(n, new(big.Float).SetUint64(unit)).Uint64()
	if bytes == 0 && accuracy == big.Above || bytes == math.MaxUint64 && accuracy == big.Below {
		return "", invalid // negative, or more than there can be
	}
	return strconv.FormatUint(bytes>>30, 10) + "Gi", nil
}

// matches returns the model of the request that a GPU matches. A named model takes precedence over the vendor's
// wildcard, even if its memory or interface does not match.
func (w gpuRequest) matches(c Card) (model, bool) {
	var wanted *model
	for i, m := range w.models {
		if m.vendor == c.Vendor && (m.name == c.Name || m.name == anyModel) {
			wanted = &w.models[i]
			if m.name == c.Name {
				break
			}
		}
	}
	if wanted == nil || wanted.ram != "" && wanted.ram != c.MemorySize ||
		wanted.iface != "" && wanted.iface != cardInterface(c) {
		return model{}, false
	}
	return model{vendor: c.Vendor, name: c.Name, ram: wanted.ram, iface: wanted.iface}, true
}

// cardInterface returns the interface of a GPU as requests name it: SXM4 and SXM5 are sxm.
func cardInterface(c Card) string {
	iface := strings.ToLower(c.Interface)
	if strings.HasPrefix(iface, "sxm") {
		return "sxm"
	}
	return iface
}

// describe describes the request to people.
func (w gpuRequest) describe() string {
	names := make([]string, 0, maxModelsNamed)
	for _, m := range w.models[:min(len(w.models), maxModelsNamed)] {
		names = append(names, lease.Clip(m.String()))
	}
	if more := len(w.models) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d others", more))
	}
	return strings.Join(names, " or ")
}

// maxModelsNamed limits how many models of a request a message names.
const maxModelsNamed = 4
