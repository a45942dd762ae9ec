package inventory_test

import (
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// gpuNode returns a node with these GPUs and room for everything else.
func gpuNode(cards ...inventory.Card) inventory.Cluster {
	much := inventory.Amount{Allocatable: inventory.Unlimited}
	return inventory.Cluster{Nodes: []inventory.Node{{Name: "n1", CPU: much, Memory: much, EphemeralStorage: much, GPU: much, Cards: cards}}}
}

func gpuGroup(units uint64, attributes ...string) inventory.Group {
	return inventory.Group{Resources: []inventory.Resource{{ID: 1, Count: 1, GPU: inventory.GPU{Units: units, Attributes: attributes}}}}
}

// For any requested attributes and any labels the answer is a grant whose attribute selects the same model on the same
// node again, or a short refusal that says nothing twice.
func FuzzWish(f *testing.F) {
	for _, a := range wishes {
		f.Add(a, "nvidia", "t4", "16Gi", "PCIe", uint64(1))
	}
	f.Add("vendor/nvidia/model/*/ram/-1/interface/sxm", "nvidia", "*", "-1Gi", "SXM9", uint64(2))
	f.Add("vendor/amd/model/\x1b[31m/ram/1e99", "amd", "\x1b[31m", "", "", uint64(math.MaxUint64))
	f.Add("vendor/nvidia/model//ram//interface/", "nvidia", "", "", "", uint64(1))
	f.Add(strings.Repeat("vendor/nvidia/model/", 1000), "nvidia", "vendor", "", "", uint64(1))
	f.Fuzz(func(t *testing.T, attribute, vendor, name, ram, iface string, units uint64) {
		card := inventory.Card{Vendor: vendor, Name: name, MemorySize: ram, Interface: iface}
		cluster := gpuNode(card, card)
		grant, refusal := inventory.New(cluster, nil, inventory.Levels{}).Reserve(gpuGroup(units, attribute))
		switch {
		case refusal != nil:
			if text := refusal.String(); text == "" || len(text) > 2500 {
				t.Errorf("the refusal says %d bytes: %.300q", len(text), text)
			}
			return
		case units == 0:
			if grant.Resources[0].Params != nil {
				t.Error("who wants no card gets one")
			}
			return
		case units > 2:
			t.Fatalf("%d cards of 2 are given", units)
		}
		got := grant.Resources[0]
		if p := got.Params.Resources.GPU; p.Vendor != vendor || p.Model != name || len(got.GPUAttributes) != 1 {
			t.Fatalf("the model is %+v and the attributes are %q for %+v", p, got.GPUAttributes, card)
		}
		if strings.Contains(name, "/") {
			return // no attribute can name such a model
		}
		again, refusal := inventory.New(cluster, nil, inventory.Levels{}).Reserve(gpuGroup(units, got.GPUAttributes...))
		if refusal != nil || again.Resources[0].GPUAttributes[0] != got.GPUAttributes[0] {
			t.Errorf("what was granted, %q, is refused: %v", got.GPUAttributes, refusal)
		}
	})
}

// A wish for memory is met by cards of that size in whole Gi, however it is written. Akash wants a binary suffix.
func TestMemoryOfAWish(t *testing.T) {
	for size, want := range map[string]string{
		"80Gi": "80Gi", "81920Mi": "80Gi", "82943Mi": "80Gi", "83886080Ki": "80Gi", "83886079Ki": "79Gi", "0.5Ti": "512Gi", ".5Ti": "512Gi",
		"80.Gi": "80Gi", "+80Gi": "80Gi", "0.0Gi": "0Gi", "1Ki": "0Gi", "15.99Ei": "17169131765Gi", "80.9999999999Gi": "80Gi",
	} {
		if _, refusal := inventory.New(gpuNode(inventory.Card{Vendor: "nvidia", Name: "x", MemorySize: want}), nil, inventory.Levels{}).
			Reserve(gpuGroup(1, "vendor/nvidia/model/x/ram/"+size)); refusal != nil {
			t.Errorf("%s is not %s: %s", size, want, refusal)
		}
	}
	for _, size := range []string{"", "80 Gi", "80gi", "80GB", "1e1000", "1E-9999", "NaN", "0x50Gi",
		"85899345920", "80G", "1e10", "0", "-1", "0Gi", "080Gi", "-80Gi", "16Ei", "99999999999Ei", ".Gi", "1e1Gi", "i",
		strings.Repeat("0", 33), "80Gi\n"} {
		if _, refusal := inventory.New(gpuNode(inventory.Card{Vendor: "nvidia", Name: "x"}), nil, inventory.Levels{}).
			Reserve(gpuGroup(1, "vendor/nvidia/model/x/ram/"+size)); refusal == nil || !strings.Contains(refusal.String(), "is no size") {
			t.Errorf("%q: %v", size, refusal)
		}
	}
}

// A refusal names few of many requested models, and shortens long ones.
func TestManyWishesAreToldInShort(t *testing.T) {
	var many []string
	for i := range 1000 {
		many = append(many, "vendor/nvidia/model/"+strings.Repeat("x", 500)+strings.Repeat("y", i))
	}
	_, refusal := inventory.New(gpuNode(), nil, inventory.Levels{}).Reserve(gpuGroup(1, many...))
	if text := refusal.String(); len(text) > 2500 || !strings.Contains(text, "or 996 others") {
		t.Errorf("%d bytes: %.300s", len(text), text)
	}
}

// People and Kubernetes read the same amounts, rounded to the given side. What is wanted and what is left never look
// equal if one is larger.
func TestBytesAreReadAsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.Uint64Max(1<<62), rapid.Uint64Max(1<<21), rapid.SampledFrom([]uint64{1023, 1024, 1<<20 - 1, 1 << 20, 1<<30 - 1, 1<<30 + 1, 1<<60 - 1})).Draw(t, "n")
		down, up := resource.MustParse(inventory.Bytes(n, false)), resource.MustParse(inventory.Bytes(n, true))
		if uint64(down.Value()) > n+1 || uint64(up.Value()) < n { // a value is rounded up to whole bytes
			t.Errorf("%d is told as %s and %s", n, &down, &up)
		}
		if left, wanted := inventory.Bytes(n, false), inventory.Bytes(n+1, true); left == wanted {
			t.Errorf("%d wanted and %d left are both %s", n+1, n, left)
		}
	})
}
