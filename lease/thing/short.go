package thing

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/lazy"
)

// Short is a short name of leases: a part of their name, as tables print it. It may be the name of several.
type Short struct {
	// owner and provider are wallets of which the middle may be left out: the text before and after an ellipsis.
	owner, provider cut
	// dseq, gseq and oseq are the numbers; 0 if they are not given.
	dseq       uint64
	gseq, oseq uint64
	// namespace is the lease's; empty if the name is not that of a namespace.
	namespace string
}

// cut is a text of which a part may be left out.
type cut struct{ head, tail string }

// matches reports whether a text has the head and the tail.
func (c cut) matches(text string) bool {
	return len(text) >= len(c.head)+len(c.tail) && strings.HasPrefix(text, c.head) && strings.HasSuffix(text, c.tail)
}

// isNamespace reports whether a text has the form of a lease's namespace: a hash of 224 bits in lower-case base32hex (provider: LidNS).
func isNamespace(text string) bool {
	return len(text) == 45 && strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'v') }) < 0
}

// ParseShort reads a short name of leases, with or without "lease/":
//
//	akash1h24…9w3c9h/8438017/1  a wallet without its middle; "..." stands for "…"
//	8438017                     a DSEQ
//	OWNER  OWNER/DSEQ           the leases of an owner, or of a deployment
//	NAMESPACE                   the namespace of a lease
//
// ok is false for any other text, also for the whole name of a lease.
func ParseShort(text string) (s Short, ok bool) {
	text = TrimKind(text, Lease)
	if isNamespace(text) {
		return Short{namespace: text}, true
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil && n > 0 && isNumber(text) {
		return Short{dseq: n}, true
	}
	parts := strings.Split(text, "/")
	if len(parts) > 5 {
		return Short{}, false
	}
	whole := len(parts) >= 3
	for i, part := range parts {
		var valid bool
		switch i {
		case 0:
			s.owner, valid = parseCut(part)
			whole = whole && s.owner.tail == ""
		case 4:
			s.provider, valid = parseCut(part)
			whole = whole && s.provider.tail == ""
		default:
			var n uint64
			n, err := strconv.ParseUint(part, 10, 64)
			valid = err == nil && n > 0 && isNumber(part)
			switch i {
			case 1:
				s.dseq = n
			case 2:
				s.gseq = n
			case 3:
				s.oseq = n
			}
		}
		if !valid {
			return Short{}, false
		}
	}
	return s, !whole
}

// parseCut reads a wallet of which the middle may be left out. ok is false for any other text.
func parseCut(text string) (c cut, ok bool) {
	head, tail, found := strings.Cut(strings.Replace(text, "...", "…", 1), "…")
	if !found {
		return cut{head: text}, strings.HasPrefix(text, "akash1") && lease.CheckWallet(text) == nil
	}
	return cut{head, tail}, strings.HasPrefix(head, "akash1") && tail != "" && lease.CheckAddress(head+"0"+tail) == nil
}

// Matches reports whether it is a name of a lease.
func (s Short) Matches(id lease.ID) bool {
	if s.namespace != "" {
		return s.namespace == id.Namespace()
	}
	is := func(want, is uint64) bool { return want == 0 || want == is }
	return s.owner.matches(id.Owner) && is(s.dseq, id.DSeq) && is(s.gseq, uint64(id.GSeq)) && is(s.oseq, uint64(id.OSeq)) && s.provider.matches(id.Provider)
}

// Leases returns the whole names of the leases that it names.
func (s Short) Leases(among iter.Seq[lease.ID]) (names []string) {
	for id := range among {
		if s.Matches(id) {
			names = append(names, id.String())
		}
	}
	slices.Sort(names)
	return names
}

// Lengthen returns the whole names of those leases that it names: of their deployment groups, or of the leases themselves if the name
// says more than that.
func (s Short) Lengthen(leases iter.Seq[lease.ID]) []string {
	names := map[string]bool{}
	for id := range leases {
		switch {
		case !s.Matches(id):
		case s.namespace != "" || s.oseq != 0:
			names[id.String()] = true
		default:
			names[id.Group().String()] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// ShortWallet returns the first 9 and the last 6 characters of a wallet, as tables print it: akash1h24…9w3c9h. A text that would not
// become shorter is returned as it is.
func ShortWallet(wallet string) string {
	const head, tail = 9, 6
	text := []rune(wallet)
	if len(text) <= head+tail+1 {
		return wallet
	}
	return string(text[:head]) + "…" + string(text[len(text)-tail:])
}

// leaseName is the name of a lease in a sentence, with what is before it: a flag that takes it, or a character that is no part of a name.
var leaseName = lazy.Pattern(`(^|--[a-z-]+[ =]|[^0-9A-Za-z/-])(akash1[0-9a-z]{38})((?:/[0-9]+)+)(/akash1[0-9a-z]{38})?`)

// ShortenLeases shortens the wallets in the names of leases in a sentence, so that the names can be typed back. A name that a flag takes
// stays whole, because flags also take leases that hold nothing yet. So do names of objects, and wallets alone.
func ShortenLeases(text string) string {
	return leaseName().ReplaceAllStringFunc(text, func(found string) string {
		part := leaseName().FindStringSubmatch(found)
		if strings.HasPrefix(part[1], "--") {
			return found
		}
		short := part[1] + ShortWallet(part[2]) + part[3]
		if provider, ok := strings.CutPrefix(part[4], "/"); ok {
			short += "/" + ShortWallet(provider)
		}
		return short
	})
}

// Complete returns the name of a deployment group that begins with a text: its whole name, else a short one. ok is false if none does.
func Complete(g lease.Group, typed string) (name string, ok bool) {
	kind := strings.TrimSuffix(typed, TrimKind(typed, Lease)) // "lease/" or nothing
	short := ShortWallet(g.Owner)
	for _, name := range []string{g.String(), strconv.FormatUint(g.DSeq, 10), short + strings.TrimPrefix(g.String(), g.Owner)} {
		if strings.HasPrefix(kind+name, typed) {
			return kind + name, true
		}
	}
	return "", false
}

// Nearest returns the deployment group whose name is the most like that of another one: most of its characters are the same at the
// beginning and at the end. ok is false if none is of the same owner or differs in a few characters only.
func Nearest(g lease.Group, among iter.Seq[lease.Group]) (nearest lease.Group, ok bool) {
	const typos = 3
	name, most := g.String(), -1
	for other := range among {
		text := other.String()
		same := commonEnds(name, text)
		if other.Owner != g.Owner && same < max(len(name), len(text))-typos || other == g {
			continue
		}
		if same > most || same == most && other.Compare(nearest) < 0 {
			nearest, most, ok = other, same, true
		}
	}
	return nearest, ok
}

// commonEnds returns how many bytes two texts have in common at their beginnings and, behind these, at their ends.
func commonEnds(a, b string) int {
	n, shorter := 0, min(len(a), len(b))
	for n < shorter && a[n] == b[n] {
		n++
	}
	m := 0
	for m < shorter-n && a[len(a)-1-m] == b[len(b)-1-m] {
		m++
	}
	return n + m
}
