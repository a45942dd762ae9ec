package resources_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

// What the chain refuses is found out here, at the same value.
func TestAmountsAreAcceptedUpToTheChainsLimits(t *testing.T) {
	wish := []resources.Attribute{{Key: "vendor/nvidia/model/*", Value: "true"}}
	gpus := func(n uint64) error { return resources.CheckGPU(resources.GPU{Units: n, Attributes: wish}) }
	for name, c := range map[string]struct {
		check       func(uint64) error
		least, most uint64
		says        string
	}{
		"CPU":     {resources.CheckCPU, 10, 384_000, "of CPU is not what Akash accepts (10m to 384)"},
		"memory":  {resources.CheckMemory, 1 << 20, 2 << 40, "of memory is not what Akash accepts (1Mi to 2Ti)"},
		"volumes": {resources.CheckVolume, 5 << 20, 32 << 40, "is not what Akash accepts (5Mi to 32Ti)"},
		"GPUs":    {gpus, 1, 24, "GPUs"},
	} {
		for _, n := range []uint64{c.least, c.least + 1, c.most - 1, c.most} {
			if err := c.check(n); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, n := range []uint64{c.least - 1, c.most + 1, math.MaxUint64} {
			if c.least == 0 && n == c.least-1 {
				continue
			}
			if err := c.check(n); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %d: %v, want %q", name, n, err, c.says)
			}
		}
	}
}

// A label of a node holds the vendor and the model.
func TestAModelIsAsLongAsALabelHasRoomFor(t *testing.T) {
	for vendor, most := range map[string]int{resources.VendorNVIDIA: 26, resources.VendorAMD: 29} {
		label := "capabilities.gpu.vendor." + vendor + ".model."
		if got := resources.MaxModel(vendor); got != most || len(label)+got != 63 {
			t.Errorf("%s: %d characters, want %d", vendor, got, most)
		}
		for n, ok := range map[int]bool{1: true, most: true, most + 1: false, 63: false, 64: false} {
			err := resources.CheckWish("vendor/" + vendor + "/model/" + strings.Repeat("a", n))
			if (err == nil) != ok {
				t.Errorf("%s: a model of %d characters: %v", vendor, n, err)
			}
		}
	}
}

func TestAGPUsAttributeNamesItsPartsOnceAndInPairs(t *testing.T) {
	const model = "vendor/nvidia/model/a100"
	for key, want := range map[string]string{
		model:                             "",
		model + "/ram/80Gi":               "",
		model + "/interface/sxm":          "",
		model + "/interface/pcie":         "",
		model + "/ram/80Gi/interface/sxm": "",
		model + "/interface/sxm/ram/80Gi": "",
		"vendor/amd/model/mi300":          "",
		"":                                "is not a wish",
		"vendor/nvidia":                   "is not a wish",
		"vendor/nvidia/model":             "is not a wish",
		"model/a100/vendor/nvidia":        "is not a wish",
		model + "/":                       "is not a wish",
		model + "/ram":                    "is not a wish",
		model + "/ram/":                   "is not a wish",
		model + "/ram/80Gi/ram/40Gi":      "is not a wish",
		model + "/cores/2":                "is not a wish",
		model + "/ram/80Gi/interface/sxm/ram/80Gi":      "is not a wish",
		"vendor/intel/model/a100":                       `no GPUs of the vendor "intel"`,
		"vendor/NVIDIA/model/a100":                      `no GPUs of the vendor "NVIDIA"`,
		"vendor/nvidia/model/":                          "is not the model of a GPU",
		"vendor/nvidia/model/a 100":                     "is not the model of a GPU",
		model + "/ram/80":                               "is not the memory of a GPU",
		model + "/ram/0Gi":                              "is not the memory of a GPU",
		model + "/ram/80G":                              "is not the memory of a GPU",
		model + "/ram/1.5Gi":                            "is not the memory of a GPU",
		model + "/interface/agp":                        "is not an interface of GPUs",
		model + "/interface/SXM":                        "is not an interface of GPUs",
		model + "/interface/" + strings.Repeat("x", 90): "…",
	} {
		err := resources.CheckWish(key)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", key, err, want)
		}
	}
}

func TestASizeIsReadByItsSuffix(t *testing.T) {
	for i, letter := range "kMGTPE" {
		decimal, binary := uint64(math.Pow(1000, float64(i+1))), uint64(1)<<(10*(i+1))
		upper := strings.ToUpper(string(letter))
		for text, want := range map[string]uint64{"1" + string(letter): decimal, "1" + upper + "i": binary, "2" + upper + "i": 2 * binary} {
			if got, ok := resources.ParseBytes(text); !ok || got != want {
				t.Errorf("%s is %d (%v), want %d", text, got, ok, want)
			}
		}
		if got := resources.FormatBytes(binary); got != "1"+upper+"i" {
			t.Errorf("%d is written %s", binary, got)
		}
	}
}

func TestAttributesAreOrderedByKey(t *testing.T) {
	list := []resources.Attribute{{Key: "persistent", Value: "a"}, {Key: "class", Value: "z"}, {Key: "Class", Value: "b"}}
	slices.SortFunc(list, resources.Attribute.Compare)
	var keys []string
	for _, a := range list {
		keys = append(keys, a.Key)
	}
	if got := strings.Join(keys, " "); got != "Class class persistent" {
		t.Errorf("the order is %s", got)
	}
	if (resources.Attribute{Key: "a", Value: "x"}).Compare(resources.Attribute{Key: "a", Value: "y"}) != 0 {
		t.Error("the values are compared")
	}
}

// A request is never 0 where something is leased, and never more than what is leased.
func TestARequestIsTheAmountDividedByTheLevel(t *testing.T) {
	for _, c := range []struct {
		name         string
		level        float64
		amount, want uint64
	}{
		{"no overcommit", 1, 1000, 1000},
		{"a level below 1 changes nothing", 0.5, 1000, 1000},
		{"a level of 0 changes nothing", 0, 1000, 1000},
		{"not a number changes nothing", math.NaN(), 1000, 1000},
		{"twice as much", 2, 1000, 500},
		{"rounded up from the half", 2, 5, 3},
		{"rounded down", 3, 4, 1},
		{"at least 1", 1000, 1, 1},
		{"an endless level leaves 1", math.Inf(1), 1000, 1},
		{"nothing stays nothing", 2, 0, 0},
		{"the largest amount by the smallest level", math.Nextafter(1, 2), math.MaxUint64, 1<<64 - 4096},
	} {
		if got := resources.Commit(c.level, c.amount); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
