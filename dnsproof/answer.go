package dnsproof

import (
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// txtRecords returns the TXT records of a name in a reply. It joins the strings of each record (RFC 7208, 3.3) and trims
// white space. The DNS library has escaped unprintable characters.
func txtRecords(reply *dns.Msg, name string) []string {
	var out []string
	for _, rr := range reply.Answer {
		if txt, ok := rr.(*dns.TXT); ok && sameName(txt.Hdr.Name, name) {
			out = append(out, strings.TrimSpace(strings.Join(txt.Txt, "")))
		}
	}
	return out
}

// cnameTarget returns the target of a name's CNAME in a reply, or "".
func cnameTarget(reply *dns.Msg, name string) string {
	for _, rr := range reply.Answer {
		if cname, ok := rr.(*dns.CNAME); ok && sameName(cname.Hdr.Name, name) {
			return displayName(cname.Target)
		}
	}
	return ""
}

// maxAliases is the maximum number of CNAMEs to follow.
const maxAliases = 10

// chain is a name followed by the targets of its CNAMEs.
type chain []string

func (c chain) last() string { return c[len(c)-1] }

// follow appends the targets of the CNAMEs in a reply. It returns why it stopped early, or "".
func (c *chain) follow(reply *dns.Msg) (why string) {
	for {
		next := cnameTarget(reply, c.last())
		switch {
		case next == "":
			return ""
		case slices.Contains(*c, next):
			return "the CNAMEs lead in a circle, back to " + next
		case len(*c) > maxAliases:
			return fmt.Sprintf("the CNAMEs go on; only %d are followed", maxAliases)
		}
		*c = append(*c, next)
	}
}

// describe returns the answer to a query for a name: the CNAME target that it led to, if any, and the detail.
func (c chain) describe(asked, detail string) string {
	switch {
	case c.last() == asked:
		return detail
	case detail == "":
		return "alias of " + c.last()
	}
	return "alias of " + c.last() + ": " + detail
}

// Limits of what describeTXT prints.
const (
	maxPrintedRecords = 3
	maxPrintedBytes   = 64
)

// describeTXT returns a message with the first TXT records in alphabetical order, each shortened to maxPrintedBytes.
func describeTXT(texts []string) string {
	quoted := make([]string, 0, maxPrintedRecords+1)
	for _, text := range slices.Sorted(slices.Values(texts)) {
		if len(quoted) == maxPrintedRecords {
			quoted = append(quoted, fmt.Sprintf("and %d more", len(texts)-maxPrintedRecords))
			break
		}
		if len(text) > maxPrintedBytes {
			text = text[:maxPrintedBytes-1] + "…" // escaped text is ASCII
		}
		quoted = append(quoted, `"`+text+`"`)
	}
	return "found " + strings.Join(quoted, ", ")
}

// sameName reports whether two spellings are the same DNS name.
func sameName(a, b string) bool { return dns.CanonicalName(a) == dns.CanonicalName(b) }

// isWithin reports whether a name is the domain or is below it, ignoring case.
func isWithin(name, domain string) bool { return dns.IsSubDomain(dns.Fqdn(domain), dns.Fqdn(name)) }

// displayName returns a name for messages: in lower case and without the final dot.
func displayName(name string) string { return strings.TrimSuffix(dns.CanonicalName(name), ".") }
