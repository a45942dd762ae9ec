package resources_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]uint64{
		"0": 0, "1": 1, "1.5": 1, "512Mi": 512 << 20, "1k": 1000, "1Ki": 1024, "0.5Gi": 1 << 29, "5.75M": 5750000, "1e3": 1000,
		"1E": 1e18, "7Ei": 7 << 60, "1.5Gi": 3 << 29,
	} {
		if got, ok := resources.ParseBytes(text); !ok || got != want {
			t.Errorf("%q is %d (%v), want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "i", "k", "Ki", "1ki", "1K", "1kk", "1m", "-1", "-1Mi", "NaN", "Inf", "1e30", "16Ei", "1 Gi", "0x", "one"} {
		if got, ok := resources.ParseBytes(text); ok {
			t.Errorf("%q is read as %d", text, got)
		}
	}
	for bytes, want := range map[uint64]string{0: "0", 1: "1", 1023: "1023", 1024: "1Ki", 1536: "1536", 3 << 29: "1536Mi", 1 << 40: "1Ti", 5750000: "5750000"} {
		if got := resources.FormatBytes(bytes); got != want {
			t.Errorf("%d is written %q, want %q", bytes, got, want)
		}
	}
}

func TestCPUs(t *testing.T) {
	for text, want := range map[string]uint64{"1": 1000, "0.5": 500, "500m": 500, "0.0109": 10, "384": 384000, "0m": 0} {
		if got, ok := resources.ParseCPU(text); !ok || got != want {
			t.Errorf("%q is %d (%v), want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "m", "-1", "0.5m", "1e10", "4294967296m", "1k"} {
		if got, ok := resources.ParseCPU(text); ok {
			t.Errorf("%q is read as %d", text, got)
		}
	}
	for _, text := range []string{"", "-1", "1.0", "18446744073709551616"} {
		if got, ok := resources.ParseCount(text); ok {
			t.Errorf("%q is read as %d", text, got)
		}
	}
}

// What is written is read as it was.
func TestAmountsAreReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes, milli := rapid.Uint64Max(resources.MaxVolume).Draw(t, "bytes"), rapid.Uint64Max(resources.MaxCPU).Draw(t, "milli")
		if got, ok := resources.ParseBytes(resources.FormatBytes(bytes)); !ok || got != bytes {
			t.Errorf("%d is written %q and read as %d", bytes, resources.FormatBytes(bytes), got)
		}
		if got, ok := resources.ParseCPU(resources.FormatCPU(milli)); !ok || got != milli {
			t.Errorf("%d is written %q and read as %d", milli, resources.FormatCPU(milli), got)
		}
	})
}

func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		check func(uint64) error
		good  [2]uint64
	}{
		"cpu":    {resources.CheckCPU, [2]uint64{10, 384000}},
		"memory": {resources.CheckMemory, [2]uint64{1 << 20, 2 << 40}},
		"volume": {resources.CheckVolume, [2]uint64{5 << 20, 32 << 40}},
	} {
		for _, n := range c.good {
			if err := c.check(n); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, n := range []uint64{0, c.good[0] - 1, c.good[1] + 1, math.MaxUint64} {
			if c.check(n) == nil {
				t.Errorf("%s: %d is accepted", name, n)
			}
		}
	}
}

func TestWishes(t *testing.T) {
	const nvidia = "vendor/nvidia/model/"
	for key, want := range map[string]string{
		nvidia + "a100": "", nvidia + "*": "", nvidia + "A100-SXM4_80.x": "", "vendor/amd/model/mi300/ram/192Gi": "",
		nvidia + "a100/interface/sxm/ram/80Gi": "", nvidia + "*/interface/pcie": "", nvidia + "a" + strings.Repeat("1", 25): "",
		"vendor/amd/model/a" + strings.Repeat("1", 28): "",
		"":                                                 "is not a wish",
		"vendor/nvidia":                                    "is not a wish",
		"vendor/nvidia/model":                              "is not a wish",
		"/vendor/nvidia/model/a100":                        "is not a wish",
		"vendor/nvidia/model/a100/":                        "is not a wish",
		"Vendor/nvidia/model/a100":                         "is not a wish",
		"model/a100/vendor/nvidia":                         "is not a wish",
		nvidia + "a100/ram":                                "is not a wish",
		nvidia + "a100/ram/":                               "is not a wish",
		nvidia + "a/ram/1Gi/ram/2Gi":                       "is not a wish",
		nvidia + "a/interface/sxm/interface/sxm":           "is not a wish",
		nvidia + "a/ram/1Gi/interface/sxm/ram/1Gi":         "is not a wish",
		nvidia + "a100/colour/red":                         "is not a wish",
		nvidia + "a100/ram/80":                             `"80" is not the memory of a GPU in whole gibibytes, such as 80Gi`,
		nvidia + "a100/ram/80G":                            "whole gibibytes",
		nvidia + "a100/ram/80gi":                           "whole gibibytes",
		nvidia + "a100/ram/080Gi":                          "whole gibibytes",
		nvidia + "a100/ram/0Gi":                            "whole gibibytes",
		nvidia + "a100/ram/-1Gi":                           "whole gibibytes",
		nvidia + "a100/ram/1.5Gi":                          "whole gibibytes",
		nvidia + "a100/ram/82000Mi":                        "whole gibibytes",
		nvidia + "a100/ram/lots":                           "whole gibibytes",
		nvidia + "a100/ram/80Gi\n":                         "whole gibibytes",
		"vendor/intel/model/arc":                           "no GPUs of the vendor",
		"vendor//model/arc":                                "no GPUs of the vendor",
		"vendor/*/model/*":                                 "no GPUs of the vendor",
		"vendor/NVIDIA/model/a100":                         "no GPUs of the vendor",
		nvidia:                                             "is not the model",
		nvidia + "a 100":                                   "is not the model",
		nvidia + "-a":                                      "is not the model",
		nvidia + "a*":                                      "is not the model",
		nvidia + "**":                                      "is not the model",
		nvidia + "é":                                       "is not the model",
		"vendor/amd/model/a/interface/agp":                 "is not an interface",
		"vendor/amd/model/a/interface/SXM":                 "is not an interface",
		nvidia + "a" + strings.Repeat("1", 26):             "at most 26",
		"vendor/amd/model/a" + strings.Repeat("1", 29):     "at most 29",
		"vendor/" + strings.Repeat("x", 1000) + "/model/a": "…",
	} {
		got := ""
		if err := resources.CheckWish(key); err != nil {
			got = err.Error()
		}
		if (got == "") != (want == "") || !strings.Contains(got, want) || len(got) > 400 {
			t.Errorf("%.60q: %q, want %q", key, got, want)
		}
	}
}

func TestGPUs(t *testing.T) {
	wish := func(keys ...string) []resources.Attribute {
		var out []resources.Attribute
		for _, k := range keys {
			out = append(out, resources.Attribute{Key: k, Value: "true"})
		}
		return out
	}
	for name, c := range map[string]struct {
		gpu  resources.GPU
		want string
	}{
		"none":          {resources.GPU{}, ""},
		"two":           {resources.GPU{Units: 2, Attributes: wish("vendor/nvidia/model/a100", "vendor/nvidia/model/t4")}, ""},
		"all":           {resources.GPU{Units: 24, Attributes: wish("vendor/nvidia/model/*")}, ""},
		"too many":      {resources.GPU{Units: 25, Attributes: wish("vendor/nvidia/model/*")}, "more than Akash accepts"},
		"no wish":       {resources.GPU{Units: 1}, "which"},
		"no number":     {resources.GPU{Attributes: wish("vendor/nvidia/model/t4")}, "no units"},
		"no sense":      {resources.GPU{Attributes: wish("x")}, "is not a wish"},
		"twice":         {resources.GPU{Attributes: wish("vendor/nvidia/model/t4", "vendor/nvidia/model/t4")}, "given twice"},
		"another value": {resources.GPU{Attributes: []resources.Attribute{{Key: "vendor/nvidia/model/t4", Value: "false"}}}, "always"},
	} {
		err := resources.CheckGPU(c.gpu)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestVolumes(t *testing.T) {
	volume := func(pairs ...string) resources.Volume {
		v := resources.Volume{Name: "data"}
		for i := 0; i < len(pairs); i += 2 {
			v.Attributes = append(v.Attributes, resources.Attribute{Key: pairs[i], Value: pairs[i+1]})
		}
		return v
	}
	for name, c := range map[string]struct {
		v                             resources.Volume
		persistent, memory, ephemeral bool
		want                          string
	}{
		"none":                  {volume(), false, false, true, ""},
		"not persistent":        {volume("persistent", "false"), false, false, true, ""},
		"persistent":            {volume("class", "beta2", "persistent", "true"), true, false, false, ""},
		"ram":                   {volume("class", "ram", "persistent", "false"), false, true, false, ""},
		"ram, nothing said":     {volume("class", "ram"), false, true, false, ""},
		"persistent ram":        {volume("class", "ram", "persistent", "true"), true, false, false, "cannot be persistent"},
		"persistent, no class":  {volume("persistent", "true"), true, false, false, "needs a class"},
		"class, not persistent": {volume("class", "beta2", "persistent", "false"), false, false, true, "is for persistent volumes"},
		"another word":          {volume("persistent", "yes"), false, false, true, "true and false are known"},
		"another key":           {volume("size", "1"), false, false, true, "unknown attribute"},
		"bad class":             {volume("class", "A", "persistent", "true"), true, false, false, "is not the name"},
		"no class":              {volume("class", "", "persistent", "false"), false, false, true, `"" is not the name of a storage class`},
		"no class, persistent":  {volume("class", "", "persistent", "true"), true, false, false, `"" is not the name of a storage class`},
		"longest class":         {volume("class", strings.Repeat("a", 36), "persistent", "true"), true, false, false, ""},
		"no word":               {volume("persistent", ""), false, false, true, `persistent is ""; true and false are known`},
		"another spelling":      {volume("persistent", "True"), false, false, true, "true and false are known"},
		"long class":            {volume("class", strings.Repeat("a", 37), "persistent", "true"), true, false, false, "too long"},
	} {
		if c.v.Persistent() != c.persistent || c.v.InMemory() != c.memory || c.v.Ephemeral() != c.ephemeral {
			t.Errorf("%s: persistent %v, in memory %v, ephemeral %v", name, c.v.Persistent(), c.v.InMemory(), c.v.Ephemeral())
		}
		err := resources.CheckVolumeAttributes(c.v)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestKindsOfEndpointsHaveTheChainsNames(t *testing.T) {
	data, err := json.Marshal([]resources.Endpoint{{}, {Kind: resources.RandomPort}, {Kind: resources.LeasedIP, Sequence: 2}, {Kind: 9}})
	want := `[{"kind":"SHARED_HTTP"},{"kind":"RANDOM_PORT"},{"kind":"LEASED_IP","sequence":2},{"kind":"UNKNOWN"}]`
	if err != nil || string(data) != want {
		t.Errorf("%s, %v; want %s", data, err, want)
	}
}
