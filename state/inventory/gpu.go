package inventory

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// wish is a GPU wish that has been read.
type wish struct {
	units  uint64
	models []model
	// err is what is wrong with the attributes: such a wish fits no node that has a GPU.
	err error
	// text is the wish as people say it.
	text string
}

// model is what will do: cards of a vendor and model. RAM and iface are empty where any will do.
type model struct{ vendor, name, ram, iface string }

// anyModel is the name that stands for all models of a vendor.
const anyModel = "*"

// attribute is the model as an attribute of a group.
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

// String is the model as people name it.
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

// readWish reads a GPU wish. Of several attributes for one model the last counts.
func readWish(g GPU) wish {
	w := wish{units: g.Units}
	switch {
	case g.Units == 0:
		return w
	case len(g.Attributes) == 0:
		w.err = errors.New("they name no model; vendor/nvidia/model/* is any of NVIDIA's")
		return w
	}
	for _, a := range g.Attributes {
		m, err := readModel(a)
		if err != nil {
			return wish{units: g.Units, err: err}
		}
		w.add(m)
	}
	w.text = w.inWords()
	return w
}

func (w *wish) add(m model) {
	for i, other := range w.models {
		if other.vendor == m.vendor && other.name == m.name {
			w.models[i] = m
			return
		}
	}
	w.models = append(w.models, m)
}

// readModel reads an attribute: vendor and model, then pairs, of which those that are unknown are passed over.
func readModel(attribute string) (model, error) {
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

// wholeGi is a size in whole Gi, rounded down, as cards are described. It computes with floating point as Akash does.
func wholeGi(size string) (string, error) {
	bad := errors.New(lease.Message("%q is no size of a GPU's memory", size))
	m := binarySize.FindStringSubmatch(size)
	if m == nil || len(size) > 64 {
		return "", bad
	}
	n, _, err := new(big.Float).Parse(m[1], 10)
	if err != nil {
		return "", bad
	}
	unit := uint64(1024) << (10 * strings.Index("KMGTPE", m[2]))
	bytes, accuracy := n.Mul(n, new(big.Float).SetUint64(unit)).Uint64()
	if bytes == 0 && accuracy == big.Above || bytes == math.MaxUint64 && accuracy == big.Below {
		return "", bad // negative, or more than there can be
	}
	return strconv.FormatUint(bytes>>30, 10) + "Gi", nil
}

// matches is the model of the wish that a card serves. A model that is named hides the vendor's wildcard, also where
// its memory or interface is another.
func (w wish) matches(c Card) (model, bool) {
	var wanted *model
	for i, m := range w.models {
		if m.vendor == c.Vendor && (m.name == c.Name || m.name == anyModel) {
			wanted = &w.models[i]
			if m.name == c.Name {
				break
			}
		}
	}
	if wanted == nil || wanted.ram != "" && wanted.ram != c.MemorySize || wanted.iface != "" && wanted.iface != cardInterface(c) {
		return model{}, false
	}
	return model{vendor: c.Vendor, name: c.Name, ram: wanted.ram, iface: wanted.iface}, true
}

// cardInterface is a card's interface as wishes name it: SXM4 and SXM5 are sxm.
func cardInterface(c Card) string {
	iface := strings.ToLower(c.Interface)
	if strings.HasPrefix(iface, "sxm") {
		return "sxm"
	}
	return iface
}

// inWords is the wish as people say it.
func (w wish) inWords() string {
	names := make([]string, 0, maxModelsTold)
	for _, m := range w.models[:min(len(w.models), maxModelsTold)] {
		names = append(names, lease.Clip(m.String()))
	}
	if more := len(w.models) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d others", more))
	}
	return strings.Join(names, " or ")
}

// maxModelsTold is how many models of a wish are named.
const maxModelsTold = 4
