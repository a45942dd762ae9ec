package resources

import (
	"strings"
	"testing"
)

func TestSuggestBytes(t *testing.T) {
	for text, want := range map[string]string{
		"16GB": "16G or 16Gi", "16Gb": "16G or 16Gi", "16gb": "16G or 16Gi", "16g": "16G or 16Gi", "16 GB": "16G or 16Gi",
		"16gi": "16Gi", "512mi": "512Mi", "1ti": "1Ti", "16GiB": "16Gi", "16MIB": "16Mi", "4K": "4k or 4Ki", "4kb": "4k or 4Ki", "4ki": "4Ki",
		"1.5GB": "1.5G or 1.5Gi", "lots": "", "": "", "GB": "", "-1GB": "", "16XB": "", "16GBB": "",
	} {
		if got := strings.Join(SuggestBytes(text), " or "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
