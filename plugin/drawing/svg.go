package drawing

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
)

// Measures of a picture, in pixels. Texts are stretched to whole cells, so that the font does not matter.
const (
	cellWidth  = 7.8
	lineHeight = 18.0
	padding    = 10.0
	margin     = 20.0
)

// style has the colours of a picture, on light and on dark ground.
const style = `
svg { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
.ground { fill: #f6f6f4; } .paper { fill: #fff; } .edge { fill: none; stroke: #a9a8a2; stroke-width: 1.5; }
text { fill: #1c1d1f; white-space: pre; } text.soft { fill: #5f6368; }
text.good, text.wait, text.bad, text.idle { font-weight: 600; }
rect.plain { stroke: #b9b8b2; } rect.good { stroke: #1a7f4b; } rect.wait { stroke: #95620a; } rect.bad { stroke: #c0281c; } rect.idle { stroke: #3f62ad; }
text.good { fill: #1a7f4b; } text.wait { fill: #95620a; } text.bad { fill: #c0281c; } text.idle { fill: #3f62ad; }
@media (prefers-color-scheme: dark) {
  .ground { fill: #101214; } .paper { fill: #181b1f; } .edge { stroke: #5a616b; }
  text { fill: #e8e9ea; } text.soft { fill: #a2a8b0; }
  rect.plain { stroke: #4a515b; } rect.good { stroke: #4cc38a; } rect.wait { stroke: #eab04d; } rect.bad { stroke: #ff7b6e; } rect.idle { stroke: #8fb0f0; }
  text.good { fill: #4cc38a; } text.wait { fill: #eab04d; } text.bad { fill: #ff7b6e; } text.idle { fill: #8fb0f0; }
}
`

// picture collects the elements of an SVG document.
type picture struct {
	strings.Builder
	// styles are added to style.
	styles string
}

// document returns the document, of a size in pixels. title is what a screen reader says of it.
func (p *picture) document(title string, width, height float64) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img">
<title>%s</title>
<style>%s</style>
<rect class="ground" width="100%%" height="100%%"/>
%s</svg>
`, width, height, width, height, xmlText(title), style+p.styles, p.String())
}

// text adds a text whose left end and base line are at a place.
func (p *picture) text(x, y float64, class, text string) {
	if n := terminal.Cells(text); n > 0 {
		fmt.Fprintf(p, `<text x="%.1f" y="%.1f" class="%s" textLength="%.1f" lengthAdjust="spacingAndGlyphs">%s</text>`+"\n",
			x, y, class, float64(n)*cellWidth, xmlText(text))
	}
}

// xmlText escapes a text for an element or an attribute.
func xmlText(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // a Builder has no errors
	return out.String()
}
