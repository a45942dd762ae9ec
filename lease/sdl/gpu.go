package sdl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

var (
	gpuAttributeKeys = []string{"vendor"}
	modelKeys        = []string{"model", "ram", "interface"}
)

// readGPU reads the number of GPUs and the accepted models.
func readGPU(c document.Cursor) resources.GPU {
	m := c.RepeatingMapping(unitsKeys, gpuRepeats)
	units, _ := resources.ParseCount(m.Get("units").Raw())
	gpu := resources.GPU{Units: units}
	wishes := m.Get("attributes")
	if a := wishes.RepeatingMapping(gpuAttributeKeys, gpuAttributeRepeats); a.Present() {
		gpu.Attributes = readVendors(wishes, a.Get("vendor"))
	}
	switch {
	case wishes.IsNull():
		c.Report(resources.CheckGPU(gpu))
	case gpu.Attributes != nil:
		wishes.Report(resources.CheckGPU(gpu))
	}
	return gpu
}

// readVendors returns the accepted models, sorted. Akash's library supports only NVIDIA: it drops other vendors, and
// accepts any NVIDIA GPU if nothing is left (chain-sdk: go/sdl/gpu.go). This reader does the same, because that is what
// the provider receives, but warns about it.
func readVendors(attributes, c document.Cursor) []resources.Attribute {
	vendors := c.AnyMapping()
	if !vendors.Present() {
		attributes.Errorf("the attributes of a GPU name no vendor; write vendor: {nvidia: [{model: a100}]}, or vendor: {nvidia: } " +
			"for any of NVIDIA")
		return nil
	}
	var out []resources.Attribute
	for vendor, models := range vendors.Entries() {
		if vendor.Key() != resources.VendorNVIDIA {
			vendor.Warnf("Akash's SDL knows GPUs of nvidia alone: the wish for %q is dropped, and where none is left any card of "+
				"nvidia is asked for", vendor.Key())
			continue
		}
		for model := range models.Items() {
			out = append(out, resources.Attribute{Key: "vendor/" + resources.VendorNVIDIA + "/model/" + readModel(model), Value: "true"})
		}
	}
	if len(out) == 0 {
		out = []resources.Attribute{{Key: "vendor/" + resources.VendorNVIDIA + "/model/*", Value: "true"}}
	}
	slices.SortFunc(out, resources.Attribute.Compare)
	return out
}

func readModel(c document.Cursor) string {
	m := c.Mapping(modelKeys)
	model := m.Get("model").Word()
	if ram := m.Get("ram"); !ram.IsNull() {
		bytes, ok := resources.ParseBytes(ram.Word())
		decimal := strings.TrimRight(ram.Raw(), "kMGTPE") != ram.Raw() // Akash takes binary suffixes alone
		switch gi := bytes >> 30; {
		case !ok || gi == 0 || decimal:
			ram.Errorf("%q is not the memory of a GPU in whole gibibytes, such as 80Gi%s", ram.Raw(), suggestGibibytes(ram.Raw()))
		default:
			if bytes != gi<<30 {
				ram.Warnf("%q is read as %dGi: whole gibibytes count", ram.Raw(), gi)
			}
			model += fmt.Sprintf("/ram/%dGi", gi)
		}
	}
	if i := m.Get("interface"); !i.IsNull() {
		model += "/interface/" + i.Word()
	}
	return model
}

// suggestGibibytes returns the memory that a text probably means, as the end of a message, or "".
func suggestGibibytes(text string) string {
	for _, size := range resources.SuggestBytes(text) {
		if strings.HasSuffix(size, "Gi") || strings.HasSuffix(size, "Ti") {
			return fmt.Sprintf("; write %q", size)
		}
	}
	return ""
}
