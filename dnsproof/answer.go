package dnsproof

import (
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// textsOf are the TXT records of a name in an answer: the strings of each joined (RFC 7208 reads
// them so too), without spaces around. What cannot be printed is escaped.
func textsOf(reply *dns.Msg, name string) []string {
	var out []string
	for _, rr := range reply.Answer {
		if txt, ok := rr.(*dns.TXT); ok && same(txt.Hdr.Name, name) {
			out = append(out, strings.TrimSpace(strings.Join(txt.Txt, "")))
		}
	}
	return out
}

// aliasOf is the name of which another is an alias by an answer, or empty.
func aliasOf(reply *dns.Msg, name string) string {
	for _, rr := range reply.Answer {
		if cname, ok := rr.(*dns.CNAME); ok && same(cname.Hdr.Name, name) {
			return shown(cname.Target)
		}
	}
	return ""
}

// What is shown of records that are something else: as many, as long.
const (
	maxShown  = 3
	maxLength = 64
)

// found tells what TXT records say.
func found(texts []string) string {
	quoted := make([]string, 0, maxShown+1)
	for _, text := range slices.Sorted(slices.Values(texts)) {
		if len(quoted) == maxShown {
			quoted = append(quoted, fmt.Sprintf("and %d more", len(texts)-maxShown))
			break
		}
		if len(text) > maxLength {
			text = text[:maxLength-1] + "…" // escaped text is ASCII
		}
		quoted = append(quoted, `"`+text+`"`)
	}
	return "found " + strings.Join(quoted, ", ")
}
