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

func TestASizeThatIsTooSmallIsProbablyMebibytes(t *testing.T) {
	for text, want := range map[string]string{
		"512": "512Mi", "512k": "512Mi", "16Ki": "16Mi", "1": "1Mi", "1M": "1Mi", "1.5": "1.5Mi", "65535": "65535Mi",
		"65536": "", "1024k": "", "524288": "", "0": "", "0.5M": "", "0.5Mi": "", "": "", "lots": "", "1e3": "", "1Gi": "", "1G": "",
	} {
		if want != "" {
			want = `; write "` + want + `"`
		}
		if got := HintSize(text, MinMemory); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := HintSize("4M", MinVolume); got != "" {
		t.Errorf("a volume of 4M: %q", got)
	}
	if got := HintSize("16GB", MinVolume); got != `; write "16G" or "16Gi"` {
		t.Errorf("16GB: %q", got)
	}
}
