package resources_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

// What amounts, wishes for GPUs and volumes are, and what is said of those that are none: testdata/rules.txt; `go test
// ./lease/resources -rewrite` writes what is said now. A line is a text ("a×3" for a111):
//
//	bytes, cpu, count   an amount, how it is written, and what is meant where it is none, or less than memory may have
//	number              thousandths of a CPU, and bytes: how they are written
//	limits              a number that is asked of CPU, memory, a volume and GPUs
//	wish                an attribute of a GPU
//	gpu                 UNITS and its attributes, KEY or KEY=VALUE
//	volume              its attributes, KEY=VALUE
func TestRules(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/rules.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			text := line
			if before, times, ok := strings.Cut(line, "×"); ok {
				n, err := strconv.Atoi(times)
				if err != nil {
					t.Fatal(line, err)
				}
				text = before + strings.Repeat("1", n)
			}
			fmt.Fprintf(&out, "%s  =>  %s\n", line, rules[d.Cmd](text))
		}
		return out.String()
	})
}

var rules = map[string]func(text string) string{
	"bytes": func(text string) string {
		if n, ok := resources.ParseBytes(text); ok {
			return fmt.Sprintf("%d, %s%s", n, resources.FormatBytes(n), resources.HintSize(text, resources.MinMemory))
		}
		return strings.TrimSpace("none " + strings.Join(resources.SuggestBytes(text), " or "))
	},
	"cpu": func(text string) string {
		if n, ok := resources.ParseCPU(text); ok {
			return fmt.Sprintf("%d, %s", n, resources.FormatCPU(n))
		}
		return "none"
	},
	"count": func(text string) string { return fmt.Sprint(resources.ParseCount(text)) },
	"number": func(text string) string {
		n, _ := strconv.ParseUint(text, 10, 64)
		return resources.FormatCPU(n) + ", " + resources.FormatBytes(n)
	},
	"limits": func(text string) string {
		n, _ := strconv.ParseUint(text, 10, 64)
		return said(resources.CheckCPU(n)) + "; " + said(resources.CheckMemory(n)) + "; " + said(resources.CheckVolume(n))
	},
	"wish": func(text string) string { return said(resources.CheckWish(text)) },
	"gpu": func(text string) string {
		words := strings.Fields(text)
		n, _ := strconv.ParseUint(words[0], 10, 64)
		return said(resources.CheckGPU(resources.GPU{Units: n, Attributes: attributes(words[1:])}))
	},
	"volume": func(text string) string {
		v, kind := resources.Volume{Name: "data", Attributes: attributes(strings.Fields(text))}, ""
		for name, is := range map[string]bool{"persistent": v.Persistent(), "in memory": v.InMemory(), "ephemeral": v.Ephemeral()} {
			if is {
				kind += name
			}
		}
		return kind + ", " + said(resources.CheckVolumeAttributes(v))
	},
}

func said(err error) string {
	if err == nil {
		return "good"
	}
	return err.Error()
}

func attributes(words []string) (out []resources.Attribute) {
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			value = "true"
		}
		out = append(out, resources.Attribute{Key: key, Value: value})
	}
	return out
}

// A request is never 0 where something is leased, and never more than what is leased; the figures are those of Akash's provider.
func TestCommit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		level        float64
		amount, want uint64
	}{
		{1, 7, 7}, {0.5, 7, 7}, {0, 7, 7}, {-1, 7, 7}, {math.NaN(), 7, 7},
		{2, 0, 0}, {2, 1, 1}, {2, 3, 2}, {2, 5, 3}, {3, 4, 1}, {2, 1000, 500}, {1000, 1, 1}, {math.Inf(1), 1000, 1},
		{1.5, 1000, 667}, {2.7, 1000, 370}, {1.5, 1 << 30, 715827883}, {1.2, 1 << 30, 894784853}, {1.2, 5750000, 4791667},
		{2, math.MaxUint64, 1 << 63}, {1 + 1e-15, math.MaxUint64, math.MaxUint64 - 20479}, {math.Nextafter(1, 2), math.MaxUint64, 1<<64 - 4096},
		// Low bits are lost as they are in float64.
		{2, 1<<62 + 2, 1 << 61},
	} {
		if got := resources.Commit(c.level, c.amount); got != c.want {
			t.Errorf("Commit(%v, %d) = %d, want %d", c.level, c.amount, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		level, amount := rapid.Float64().Draw(t, "level"), rapid.Uint64().Draw(t, "amount")
		got := resources.Commit(level, amount)
		if got == 0 != (amount == 0) || got > amount && got-amount > 1<<11 {
			t.Errorf("Commit(%v, %d) = %d", level, amount, got)
		}
	})
}

func TestAttributesAreOrderedByKey(t *testing.T) {
	list := attributes([]string{"persistent=a", "class=z", "Class=b", "class=a"})
	slices.SortStableFunc(list, resources.Attribute.Compare)
	if got := fmt.Sprint(list); got != "[{Class b} {class z} {class a} {persistent a}]" {
		t.Errorf("the order is %s", got)
	}
}

func TestKindsOfEndpointsHaveTheChainsNames(t *testing.T) {
	data, err := json.Marshal([]resources.Endpoint{{}, {Kind: resources.RandomPort}, {Kind: resources.LeasedIP, Sequence: 2}, {Kind: 9}})
	want := `[{"kind":"SHARED_HTTP"},{"kind":"RANDOM_PORT"},{"kind":"LEASED_IP","sequence":2},{"kind":"UNKNOWN"}]`
	if err != nil || string(data) != want {
		t.Errorf("%s, %v; want %s", data, err, want)
	}
}
