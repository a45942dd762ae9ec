package observed

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// maxCards limits the GPUs of a node: a label may contain any number.
const maxCards = 1024

// cardsOf returns the GPUs of a node according to its labels: those of Akash's inventory operator, whose names
// workloads use, else those of NVIDIA's feature discovery and AMD's node labeller.
func cardsOf(o *corev1.Node) []inventory.Card {
	all := map[string]int{"nvidia": count(o, resourceNVIDIA), "amd": count(o, resourceAMD)}
	if cards := akashCards(o.Labels, all); len(cards) > 0 {
		return cards
	}
	return append(nvidiaCards(o.Labels, all["nvidia"]), amdCards(o.Labels, all["amd"])...)
}

// count returns how many GPUs of a vendor the node can allocate.
func count(o *corev1.Node, name corev1.ResourceName) int {
	return int(min(whole(o.Status.Allocatable[name]), maxCards))
}

// akashCards reads the labels akash.network/capabilities.gpu.vendor.<v>.model.<m>, whose value is a number or true,
// optionally with .ram.<size> or .interface.<i> appended. all are the node's GPUs by vendor.
func akashCards(labels map[string]string, all map[string]int) []inventory.Card {
	found := map[string]*models{} // by vendor and model
	for k, v := range labels {
		rest, ok := strings.CutPrefix(k, labelGPU)
		if !ok {
			continue
		}
		parts := strings.Split(rest, ".")
		n := number(v, all[parts[0]])
		if len(parts) < 3 || parts[1] != "model" || n == 0 {
			continue
		}
		id := parts[0] + "/" + parts[2]
		if found[id] == nil {
			found[id] = &models{vendor: parts[0], name: parts[2]}
		}
		found[id].add(parts[3:], n)
	}
	var cards []inventory.Card
	for _, id := range slices.Sorted(maps.Keys(found)) {
		cards = append(cards, found[id].cards()...)
	}
	return cards[:min(len(cards), maxCards)]
}

// number parses a label that counts GPUs. The value true means all of the vendor's.
func number(v string, all int) int {
	if v == "true" {
		return all
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		return 0
	}
	return min(max(n, 0), maxCards)
}

// models are the GPUs of one model on a node.
type models struct {
	vendor, name    string
	n               int
	ram, interfaces []string
}

// add adds a label, given what follows the model in its key: nothing, ram.<size> or interface.<i>.
func (m *models) add(parts []string, n int) {
	switch {
	case len(parts) == 0:
		m.n = n
	case len(parts) == 2 && parts[0] == "ram":
		m.ram = append(m.ram, slices.Repeat([]string{parts[1]}, n)...)
	case len(parts) == 2 && parts[0] == "interface":
		m.interfaces = append(m.interfaces, slices.Repeat([]string{parts[1]}, n)...)
	}
}

func (m *models) cards() []inventory.Card {
	slices.Sort(m.ram)
	slices.Sort(m.interfaces)
	cards := make([]inventory.Card, m.n)
	for i := range cards {
		cards[i] = inventory.Card{Vendor: m.vendor, Name: m.name, MemorySize: at(m.ram, i), Interface: at(m.interfaces, i)}
	}
	return cards
}

func at(s []string, i int) string {
	if i < len(s) {
		return s[i]
	}
	return ""
}

// nvidiaCards reads the labels of NVIDIA's GPU feature discovery, which reports one product per node.
func nvidiaCards(labels map[string]string, n int) []inventory.Card {
	product := labels["nvidia.com/gpu.product"]
	if product == "" || n == 0 {
		return nil
	}
	card := productCard(product)
	if card.Name == "" {
		return nil
	}
	card.Vendor = "nvidia"
	if mib, err := strconv.ParseUint(labels["nvidia.com/gpu.memory"], 10, 32); err == nil && card.MemorySize == "" && mib > 0 {
		card.MemorySize = roundUpToSize(float64(mib) / 1024)
	}
	return slices.Repeat([]inventory.Card{card}, n)
}

// amdCards reads the labels of AMD's node labeller.
func amdCards(labels map[string]string, n int) []inventory.Card {
	for _, prefix := range []string{"amd.com/gpu.", "beta.amd.com/gpu."} {
		product := labels[prefix+"product-name"]
		if product == "" || n == 0 {
			continue
		}
		card := productCard(product)
		if card.Name == "" {
			continue
		}
		card.Vendor = "amd"
		if vram := labels[prefix+"vram"]; len(vram) <= 8 {
			if q, err := resource.ParseQuantity(strings.TrimSuffix(vram, "i") + "i"); err == nil && q.Value() > 0 {
				card.MemorySize = roundUpToSize(float64(q.Value()) / (1 << 30))
			}
		}
		return slices.Repeat([]inventory.Card{card}, n)
	}
	return nil
}

// noise are words in product names that Akash's names for models leave out.
var noise = []string{"nvidia", "geforce", "tesla", "quadro", "amd", "radeon", "instinct", "gpu", "graphics", "generation",
	"shared", "pcie", "nvl", "oam", "hbm2", "hbm2e", "hbm3", "hbm3e"}

// sxmOnly are models that exist only as SXM boards, which their product names do not mention.
var sxmOnly = []string{"h200", "b200", "b300"}

// productCard converts a product such as NVIDIA-A100-SXM4-80GB or AMD_Instinct_MI300X_OAM to the names of Akash's
// inventory: model a100, 80Gi, SXM4. The name is empty if the product names no model, like AMD Radeon Graphics.
func productCard(product string) inventory.Card {
	var c inventory.Card
	isSXM5 := false
	isSeparator := func(r rune) bool { return r == '-' || r == '_' || r == ' ' }
	for _, word := range strings.FieldsFunc(strings.ToLower(product), isSeparator) {
		size, isSize := strings.CutSuffix(word, "gb")
		_, err := strconv.ParseUint(size, 10, 16)
		switch {
		case isSize && err == nil:
			c.MemorySize = size + "Gi"
		case strings.HasPrefix(word, "sxm"), word == "oam":
			c.Interface = strings.ToUpper(word)
		case word == "pcie", word == "nvl":
			c.Interface = "PCIe"
		case word == "mig" || strings.HasPrefix(word, "mig."):
			return withInterface(c, isSXM5)
		case slices.Contains(noise, word):
			isSXM5 = isSXM5 || word == "hbm3" // only NVIDIA's SXM5 boards name their memory
		default:
			c.Name += word
		}
	}
	return withInterface(c, isSXM5)
}

// withInterface sets the interface of a GPU whose product name has none.
func withInterface(c inventory.Card, isSXM5 bool) inventory.Card {
	switch {
	case c.Interface != "":
	case isSXM5, slices.Contains(sxmOnly, c.Name):
		c.Interface = "SXM5"
	default:
		c.Interface = "PCIe"
	}
	return c
}

// sizes are the memory sizes of products in Gi. Drivers report less: error correction takes one sixteenth.
var sizes = []float64{1, 2, 3, 4, 6, 8, 10, 11, 12, 16, 20, 24, 32, 40, 48, 64, 80, 94, 96, 128, 141, 180, 192, 256, 288}

// roundUpToSize returns the memory size of the product that reports the given Gi.
func roundUpToSize(gi float64) string {
	for _, s := range sizes {
		if gi <= s {
			return strconv.Itoa(int(s)) + "Gi"
		}
	}
	return strconv.Itoa(int(math.Ceil(gi))) + "Gi"
}
