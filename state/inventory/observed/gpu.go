package observed

import (
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// maxCards is how many cards of a node are told apart; a label may say any number.
const maxCards = 1024

// cardsOf are the GPUs of a node by its labels: those of Akash's inventory operator, whose names workloads ask for; else
// those of NVIDIA's feature discovery and of AMD's node labeller.
func cardsOf(o *corev1.Node) []inventory.Card {
	all := map[string]int{"nvidia": count(o, resourceNVIDIA), "amd": count(o, resourceAMD)}
	if cards := akashCards(o.Labels, all); len(cards) > 0 {
		return cards
	}
	return append(nvidiaCards(o.Labels, all["nvidia"]), amdCards(o.Labels, all["amd"])...)
}

// count is how many cards of a vendor a node has to give.
func count(o *corev1.Node, name corev1.ResourceName) int {
	return int(min(whole(o.Status.Allocatable[name]), maxCards))
}

// akashCards reads akash.network/capabilities.gpu.vendor.<v>.model.<m>, whose value is how many there are, or true; and
// the same with .ram.<size> and .interface.<i> behind it. all is how many GPUs the node has of each vendor.
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
		found[id].note(parts[3:], n)
	}
	var cards []inventory.Card
	for _, id := range sortedKeys(found) {
		cards = append(cards, found[id].cards()...)
	}
	return cards[:min(len(cards), maxCards)]
}

// number is the value of a label that counts cards; true stands for all that the node has of the vendor.
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

// models are the cards of a node of one model.
type models struct {
	vendor, name    string
	n               int
	ram, interfaces []string
}

// note reads what stands behind the model: nothing, ram.<size>, interface.<i>.
func (m *models) note(parts []string, n int) {
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

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// nvidiaCards reads the labels of NVIDIA's GPU feature discovery, which knows one product a node.
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
		card.MemorySize = customary(float64(mib) / 1024)
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
				card.MemorySize = customary(float64(q.Value()) / (1 << 30))
			}
		}
		return slices.Repeat([]inventory.Card{card}, n)
	}
	return nil
}

// noise are words of product names that are no part of a model's name as Akash writes it.
var noise = []string{"nvidia", "geforce", "tesla", "quadro", "amd", "radeon", "instinct", "gpu", "graphics", "generation", "shared", "pcie", "nvl", "oam", "hbm2", "hbm2e", "hbm3", "hbm3e"}

// onBoard are models that exist on SXM boards only, and whose product name does not say so.
var onBoard = []string{"h200", "b200", "b300"}

// productCard is a product such as NVIDIA-A100-SXM4-80GB or AMD_Instinct_MI300X_OAM as Akash's inventory names it: the
// model a100, 80Gi, SXM4. AMD Radeon Graphics says nothing of a model.
func productCard(product string) inventory.Card {
	var c inventory.Card
	fast := false
	for _, word := range strings.FieldsFunc(strings.ToLower(product), func(r rune) bool { return r == '-' || r == '_' || r == ' ' }) {
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
			return finish(c, fast)
		case slices.Contains(noise, word):
			fast = fast || word == "hbm3" // NVIDIA names the memory of its SXM5 boards
		default:
			c.Name += word
		}
	}
	return finish(c, fast)
}

func finish(c inventory.Card, fast bool) inventory.Card {
	switch {
	case c.Interface != "":
	case fast, slices.Contains(onBoard, c.Name):
		c.Interface = "SXM5"
	default:
		c.Interface = "PCIe"
	}
	return c
}

// sizes are those in which cards are sold, in Gi. Drivers report less: error correction takes a sixteenth.
var sizes = []float64{1, 2, 3, 4, 6, 8, 10, 11, 12, 16, 20, 24, 32, 40, 48, 64, 80, 94, 96, 128, 141, 180, 192, 256, 288}

// customary is the size in which a card is sold, of which so many Gi are reported.
func customary(gi float64) string {
	for _, s := range sizes {
		if gi <= s {
			return strconv.Itoa(int(s)) + "Gi"
		}
	}
	return strconv.Itoa(int(math.Ceil(gi))) + "Gi"
}
