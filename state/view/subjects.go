package view

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
)

// Listing is a subject whose rows are listed: what it is called, which names choose its rows, and how they are shown. All that treats
// the subjects alike goes through the listings.
type Listing interface {
	// About returns what does not depend on rows.
	About() About
	// Table returns the rows as texts.
	Table(*Book, Look) Table
	// Labels returns the names of the rows as -o name prints them, each once.
	Labels(*Book) []string
	// Rows returns the rows, and Order puts them in another order, by their indices.
	Rows(*Book) []any
	Order(b *Book, by []int)
	// Named keeps the rows that are about one of the things. Rows that have no names stay.
	Named(b *Book, things []thing.Thing)

	count(*Book) int
	choose(b *Book, keep func(labels map[string]string, namespace string) bool)
	changes(out, earlier, now *Book)
	each(b *Book, do func(t *Tenant, expires string))
}

// About is what is known of a subject without its rows.
type About struct {
	Subject
	// Words are names of it on the command line; the first is the name of one row.
	Words []string
	// Kinds are the kinds of things that name rows. An endpoint may be named by a word alone.
	Kinds []thing.Kind
	// Empty says that there are no rows.
	Empty string
	// NoLease is true if its rows belong to no lease, so that nothing of leases chooses among them.
	NoLease bool
}

// Lists reports whether the subject can have rows of the thing.
func (a About) Lists(t thing.Thing) bool {
	return slices.Contains(a.Kinds, t.Kind) || t.Endpoint != "" && slices.Contains(a.Kinds, thing.Endpoint)
}

// Table is a table of rows.
type Table struct {
	// Columns are those of -o wide; the first Narrow are shown without it. A column without a name may have empty cells.
	Columns []string
	Narrow  int
	Rows    [][]string
	// Messages are sentences about the rows, at their end.
	Messages []string
}

// subject declares a listing. Only the functions that its rows need are set.
type subject[R any] struct {
	about        About
	rows         func(*Book) *[]R
	narrow, wide []string
	cells        func(*R, Look) []string
	// without returns the columns that a table of these rows leaves out.
	without func(*Book) []string
	message func(*R, Look) string
	label   func(*R) string
	// key identifies a row in a watch; release turns one into the row of what is gone. Without it such a row is left out.
	key     func(R) string
	release func(*R)
	is      func(R, thing.Thing) bool
	// tenant is the lease of a row. Rows that have labels of their own are chosen by those.
	tenant  func(*R) *Tenant
	labels  func(*R) (map[string]string, string)
	expires func(*R) string
}

func (s *subject[R]) About() About { return s.about }

func (s *subject[R]) Table(b *Book, look Look) Table {
	t := Table{Columns: slices.Concat(s.narrow, s.wide), Narrow: len(s.narrow)}
	for i := range *s.rows(b) {
		row := &(*s.rows(b))[i]
		cells, message := s.cells(row, look), ""
		for i, text := range cells {
			if text == "" && t.Columns[i] != "" {
				cells[i] = "-"
			}
		}
		if s.message != nil {
			message = s.message(row, look)
		}
		t.Rows, t.Messages = append(t.Rows, cells), append(t.Messages, message)
	}
	if s.without == nil {
		return t
	}
	for _, name := range s.without(b) {
		at := slices.Index(t.Columns, name)
		t.Columns = slices.Delete(t.Columns, at, at+1)
		for i := range t.Rows {
			t.Rows[i] = slices.Delete(t.Rows[i], at, at+1)
		}
		t.Narrow--
	}
	return t
}

func (s *subject[R]) Labels(b *Book) (out []string) {
	seen := map[string]bool{}
	for i := range *s.rows(b) {
		if label := s.label(&(*s.rows(b))[i]); label != "" && !seen[label] {
			seen[label] = true
			out = append(out, label)
		}
	}
	return out
}

func (s *subject[R]) Rows(b *Book) []any {
	out := make([]any, len(*s.rows(b)))
	for i := range out {
		out[i] = &(*s.rows(b))[i]
	}
	return out
}

func (s *subject[R]) Order(b *Book, by []int) {
	rows := s.rows(b)
	out := slices.Clone(*rows) // nil stays nil
	for i, at := range by {
		out[i] = (*rows)[at]
	}
	*rows = out
}

func (s *subject[R]) Named(b *Book, things []thing.Thing) {
	if s.is == nil {
		return
	}
	rows := s.rows(b)
	*rows = slices.DeleteFunc(slices.Clone(*rows), func(r R) bool {
		return !slices.ContainsFunc(things, func(t thing.Thing) bool { return s.is(r, t) })
	})
}

func (s *subject[R]) count(b *Book) int { return len(*s.rows(b)) }

func (s *subject[R]) choose(b *Book, keep func(map[string]string, string) bool) {
	rows, known := s.rows(b), map[*Tenant]bool{}
	*rows = slices.DeleteFunc(*rows, func(r R) bool {
		switch {
		case s.labels != nil:
			return !keep(s.labels(&r))
		case s.tenant == nil:
			return false
		}
		t := s.tenant(&r)
		kept, ok := known[t]
		if !ok {
			kept = keep(t.Labels(), t.Namespace)
			known[t] = kept
		}
		return !kept
	})
}

func (s *subject[R]) changes(out, earlier, now *Book) {
	if s.key == nil || *s.rows(now) == nil {
		return
	}
	before, changed := *s.rows(earlier), []R{}
	known := make(map[string]R, len(before))
	for _, r := range before {
		known[s.key(r)] = r
	}
	for _, r := range *s.rows(now) {
		old, ok := known[s.key(r)]
		if !ok || !reflect.DeepEqual(old, r) {
			changed = append(changed, r)
		}
		delete(known, s.key(r))
	}
	for _, r := range before {
		if _, gone := known[s.key(r)]; gone && s.release != nil {
			s.release(&r)
			changed = append(changed, r)
		}
	}
	*s.rows(out) = changed
}

func (s *subject[R]) each(b *Book, do func(*Tenant, string)) {
	for i := range *s.rows(b) {
		row := &(*s.rows(b))[i]
		var t *Tenant
		if s.tenant != nil {
			t = s.tenant(row)
		}
		expires := ""
		if s.expires != nil {
			expires = s.expires(row)
		}
		do(t, expires)
	}
}

// Listings returns all listings, in the order in which they are shown.
var Listings = sync.OnceValue(func() []Listing {
	return []Listing{hostListing(), ipListing(), leaseListing(), poolListing(), routeListing(), recordListing(), resourceListing(), orderListing(), problemListing()}
})

// ListingOf returns the listing of a subject. It returns nil for one that has no rows of its own.
func ListingOf(s Subject) Listing {
	for _, l := range Listings() {
		if l.About().Subject == s {
			return l
		}
	}
	return nil
}

// SubjectOf returns the subject that a word on the command line names.
func SubjectOf(word string) (Subject, bool) {
	for _, l := range Listings() {
		if a := l.About(); len(a.Words) > 0 && (strings.EqualFold(word, string(a.Subject)) || strings.EqualFold(word, a.Words[0])) {
			return a.Subject, true
		}
	}
	return "", false
}

// Of returns a copy of the book that contains only the rows of the things, and what has no names.
func (b *Book) Of(things ...thing.Thing) Book {
	out := *b
	for _, l := range Listings() {
		l.Named(&out, things)
	}
	return out
}

// Select keeps the rows whose labels match and, if a namespace is given, whose namespace it is. Labels and namespace
// are those of the lease or, for routes, those of the object. Rows that have neither stay.
func (b *Book) Select(selector labels.Selector, namespace string) {
	for _, l := range Listings() {
		l.choose(b, func(has map[string]string, in string) bool {
			return selector.Matches(labels.Set(has)) && (namespace == "" || in == namespace)
		})
	}
}

// Is reports whether a thing is the host or a path of it. A host without a path includes all its paths.
func (r HostRow) Is(t thing.Thing) bool { return isHost(t, r.Host, r.Path) }

// Is reports whether a route serves the thing: its host, or for an OpenShift Route with a wildcard policy the wildcard,
// of which its host is only an example.
func (r RouteRow) Is(t thing.Thing) bool {
	wildcard, path, _ := strings.Cut(r.Pattern(), "/")
	return isHost(t, r.Host, r.Path) || r.Wildcard && isHost(t, wildcard, "/"+path)
}

// Is reports whether a row is a port of the thing, an address or an endpoint.
func (r IPRow) Is(t thing.Thing) bool {
	if t.Kind == thing.Address {
		return t.Addr == r.Address
	}
	return t.Endpoint != "" && strings.EqualFold(r.SharingKey, lease.SharingKey(r.Owner, t.Endpoint))
}

// Is reports whether a row is the thing, an order, or an order of the thing's deployment group.
func (r OrderRow) Is(t thing.Thing) bool {
	return t.Kind == thing.Order && t.Order.String() == r.Order || r.IsOf(t)
}

// IsOf reports whether the thing is a lease of the tenant's deployment group. As in other commands, the order and the provider
// in its name are ignored.
func (t *Tenant) IsOf(of thing.Thing) bool {
	return of.Kind == thing.Lease && of.Group == lease.Group{Owner: t.Owner, DSeq: t.DSeq, GSeq: t.GSeq}
}

func isHost(t thing.Thing, host, path string) bool {
	return t.Kind == thing.Host && strings.EqualFold(t.Host, host) &&
		(t.Path == "" || strings.TrimSuffix(t.Path, "/") == strings.TrimSuffix(path, "/"))
}
