package input_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/input"
)

// What a reservation chose, by the ids of resource units, and what is said of what is none.
func TestScheduler(t *testing.T) {
	for text, want := range map[string]string{
		"":             "",
		"{}":           "",
		"1: ~":         "1 nothing",
		`{"1": null}`:  "1 nothing",
		"1: {}":        `1 class ""`,
		"4294967295: ": "4294967295 nothing",
		"{2: {runtime_class: none}, 1: {runtime_class: nvidia}}":                                                     `1 class "nvidia", 2 class "none"`,
		"1: {runtime_class: '', resources: {gpu: {vendor: nvidia, model: a100, memory_size: 80Gi, interface: sxm}}}": `1 class "" nvidia a100 80Gi sxm`,
		"1: {resources: {gpu: {}}}":       `1 class ""    `,
		"1: {resources: {gpu: ~}}":        `1 class ""`,
		"1: {}\n---\n2: {}":               `1 class "", 2 class ""`,
		"1: {runtimeClass: nvidia}":       `1 class "nvidia", warning: f:1:5: 1.runtimeClass: "runtimeClass" is read as "runtime_class"`,
		"0: {}":                           `f:1:1: 0: "0" is not the id of a resource unit`,
		"01: {}":                          `"01" is not the id of a resource unit`,
		"-1: {}":                          `"-1" is not the id of a resource unit`,
		"+1: {}":                          `"+1" is not the id of a resource unit`,
		"1.0: {}":                         `"1.0" is not the id of a resource unit`,
		"0x1: {}":                         `"0x1" is not the id of a resource unit`,
		"'1 ': {}":                        `"1 " is not the id of a resource unit`,
		"4294967296: {}":                  `"4294967296" is not the id of a resource unit`,
		"web: {}":                         `"web" is not the id of a resource unit`,
		"1: {}\n1: {}":                    `f:2:1: 1: key "1" is given twice (also in line 1)`,
		"1: {}\n---\n1: {}":               "f:3:1: 1: the resource unit 1 is given twice",
		"1: nvidia":                       `f:1:4: 1: expected a mapping, found the text "nvidia"`,
		"1: {class: nvidia}":              `unknown key "class"`,
		"1: {resources: {gpu: {ram: 1}}}": `unknown key "ram"`,
		"[1]":                             "f:1:1: expected a mapping, found a list",
		"1: {":                            "f:1:1: not valid YAML",
	} {
		params, problems, err := input.ReadScheduler(strings.NewReader(text), "f")
		if err != nil {
			t.Fatal(err)
		}
		var read []string
		if !problems.Failed() {
			for _, id := range slices.Sorted(maps.Keys(params)) {
				one := fmt.Sprintf("%d nothing", id)
				if p := params[id]; p != nil {
					one = fmt.Sprintf("%d class %q", id, p.RuntimeClass)
					if p.GPU != nil {
						one += fmt.Sprintf(" %s %s %s %s", p.GPU.Vendor, p.GPU.Model, p.GPU.MemorySize, p.GPU.Interface)
					}
				}
				read = append(read, one)
			}
		}
		for _, p := range problems {
			said := p.Error()
			if p.Warning {
				said = "warning: " + said
			}
			read = append(read, said)
		}
		got := strings.Join(read, ", ")
		if problems.Failed() && strings.Contains(got, want) && want != "" {
			continue
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if _, _, err := input.ReadScheduler(brokenReader{}, "f"); !errors.Is(err, errBroken) {
		t.Errorf("a reader that is broken: %v", err)
	}
}
