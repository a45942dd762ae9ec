package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// sections are the sections of the board, in their order. They are the names of the anchors and of the parameters that page them.
var sections = []string{"problems", "commands", "pools", "resources", "hosts", "addresses", "leases", "orders"}

// Board is all that the page shows, in texts.
type Board struct {
	Query   Query
	Version string
	// At is when it was read. Stale says why there is nothing newer, if it could not be read since.
	At    time.Time
	Stale string
	Notes []string
	Tiles []Tile

	Problems  Section[ProblemRow]
	Commands  Section[CommandRow]
	Pools     Section[PoolRow]
	Resources Resources
	Hosts     Section[HostRow]
	Addresses Section[AddressRow]
	Leases    Section[LeaseRow]
	Orders    Section[OrderRow]
}

// Tile is a number at the top of the page, with a link to the section that it counts.
type Tile struct {
	Section, Name, Number string
	// Link leads to the section, away from a search that finds nothing in it.
	Link string
	// Detail says more of it. Tone colours it: good, wait or bad, or nothing.
	Detail, Tone string
}

// Section is a list of the board.
type Section[R any] struct {
	// ID is the section's name, Known false if its rows were not read.
	ID    string
	Known bool
	Rows  []R
	Pager
	// States count the rows, before the search.
	States []Count
}

// Count is how many rows have a state.
type Count struct {
	State string
	N     int
}

// NewBoard returns the board of what was seen, as far as the query asks for it.
func NewBoard(s *Seen, q Query) *Board {
	b := &Board{Query: q, Version: s.Version(), At: s.At, Notes: s.Notes}
	b.Problems = section(&q, "problems", s.Book.Problems, problemRow, func(p *state.Problem) []string {
		return []string{p.Problem, p.Thing, p.Lease, p.Namespace, p.Message, p.Plan}
	}, nil)
	b.Commands = section(&q, "commands", s.Runs, func(a **state.Announcement) CommandRow { return commandRow(*a, s.At) },
		func(a **state.Announcement) []string {
			texts := []string{(*a).Nonce, (*a).By}
			for _, g := range (*a).Groups {
				texts = append(texts, g.String())
			}
			return texts
		}, nil)
	by := view.Users(s.Book.IPs)
	b.Pools = section(&q, "pools", s.Book.Pools, func(r *view.PoolRow) PoolRow { return poolRow(r, by) }, func(r *view.PoolRow) []string {
		return append([]string{r.Name}, r.Ranges...)
	}, nil)
	b.Resources = resources(&q, s.Book.Resources)
	b.Hosts = section(&q, "hosts", s.Book.Hosts, hostRow, func(r *view.HostRow) []string {
		return []string{r.Host + r.Path, r.State, r.Lease, r.Owner, r.Namespace, r.Service, r.Target, r.Message}
	}, func(r *view.HostRow) string { return r.State })
	b.Addresses = section(&q, "addresses", s.Book.IPs, addressRow, func(r *view.IPRow) []string {
		return []string{addressText(r), r.State, r.Lease, r.Owner, r.Namespace, r.Service, r.Pool, r.PortText(), r.Message}
	}, func(r *view.IPRow) string { return r.State })
	b.Leases = section(&q, "leases", s.Book.Leases, leaseRow, func(r *view.LeaseRow) []string {
		return slices.Concat([]string{r.Lease, r.Namespace, leaseState(r)}, r.Hosts, r.Addresses)
	}, leaseState)
	b.Orders = section(&q, "orders", s.Book.Orders, orderRow, func(r *view.OrderRow) []string {
		return []string{r.Order, r.State, r.By, r.Claim, r.Message}
	}, func(r *view.OrderRow) string { return r.State })
	firstOfEach(b.Hosts.Rows, func(r *HostRow) *string { return &r.ID })
	firstOfEach(b.Addresses.Rows, func(r *AddressRow) *string { return &r.ID })
	b.Tiles = tiles(s, b)
	return b
}

// pagers are those of the sections, by name.
func (b *Board) pagers() map[string]*Pager {
	return map[string]*Pager{
		"problems": &b.Problems.Pager, "commands": &b.Commands.Pager, "pools": &b.Pools.Pager, "resources": &b.Resources.Nodes.Pager,
		"hosts": &b.Hosts.Pager, "addresses": &b.Addresses.Pager, "leases": &b.Leases.Pager, "orders": &b.Orders.Pager,
	}
}

// Nothing reports whether a search finds nothing on the whole board.
func (b *Board) Nothing() bool {
	for _, p := range b.pagers() {
		if p.Matching > 0 {
			return false
		}
	}
	return b.Query.Search != ""
}

// section returns the rows that a query finds, of which it makes only those that are shown.
func section[R, S any](
	q *Query, id string, all []S, row func(*S) R, texts func(*S) []string, stateOf func(*S) string,
) Section[R] {
	out := Section[R]{ID: id, Known: all != nil}
	var found []*S
	counts := map[string]int{}
	for i := range all {
		if stateOf != nil {
			counts[stateOf(&all[i])]++
		}
		if len(q.words) == 0 || q.finds(texts(&all[i])...) {
			found = append(found, &all[i])
		}
	}
	found, out.Pager = cut(q, id, found, len(all))
	out.Nothing = len(q.words) > 0 && out.Known && len(found) == 0
	for _, one := range found {
		out.Rows = append(out.Rows, row(one))
	}
	for _, s := range stateOrder {
		if counts[s] > 0 {
			out.States = append(out.States, Count{s, counts[s]})
		}
	}
	return out
}

// stateOrder is the order in which states are counted.
var stateOrder = []string{
	view.StateActive, view.StatePartial, view.StateLeased, view.StateReserved, view.StateClaiming, view.StatePending, view.StateTransferring,
	view.StateWithheld, view.StateExpired, view.StateTerminating, view.StateUnreadable,
}

// firstOfEach leaves an ID to the first of the rows that have it: the IDs of a page differ.
func firstOfEach[R any](rows []R, id func(*R) *string) {
	seen := map[string]bool{}
	for i := range rows {
		at := id(&rows[i])
		if seen[*at] {
			*at = fmt.Sprintf("%s@%d", *at, i)
		}
		seen[*at] = true
	}
}

// tiles returns the numbers at the top of the page.
func tiles(s *Seen, b *Board) []Tile {
	var all []Tile
	pagers := b.pagers()
	add := func(known bool, t Tile) {
		if t.Link = "#" + t.Section; pagers[t.Section].Nothing {
			t.Link = "./" + t.Link
		}
		if !known {
			t.Number, t.Detail, t.Tone = "–", "not read", ""
		}
		all = append(all, t)
	}
	trouble := func(n int, word string) (string, string) {
		if n == 0 {
			return "none", "good"
		}
		return word, "bad"
	}
	detail, tone := trouble(b.Problems.Total, "to be fixed")
	add(b.Problems.Known, Tile{Section: "problems", Name: "Problems", Number: number(b.Problems.Total), Detail: detail, Tone: tone})
	detail, tone = statesText(b.Hosts.States, silent(s.Book.Hosts, (*view.HostRow).Silent))
	add(b.Hosts.Known, Tile{Section: "hosts", Name: "Hosts", Number: number(b.Hosts.Total), Detail: detail, Tone: tone})
	detail, tone = statesText(b.Addresses.States, silent(s.Book.IPs, (*view.IPRow).Silent))
	add(b.Addresses.Known, Tile{Section: "addresses", Name: "Addresses", Number: number(len(view.Users(s.Book.IPs))), Detail: detail, Tone: tone})
	detail, tone = statesText(b.Leases.States, 0)
	add(b.Leases.Known, Tile{Section: "leases", Name: "Leases", Number: number(b.Leases.Total), Detail: detail, Tone: tone})
	free, full := freeText(s.Book.Pools)
	add(b.Pools.Known, Tile{Section: "pools", Name: "Addresses free", Number: free, Detail: full, Tone: ""})
	detail = "nothing is written"
	if b.Commands.Total > 0 {
		detail = "under way"
	}
	add(b.Commands.Known, Tile{Section: "commands", Name: "Commands", Number: number(b.Commands.Total), Detail: detail, Tone: ""})
	return all
}

// silent counts the rows behind which nothing answers.
func silent[R any](rows []R, why func(*R) string) (n int) {
	for i := range rows {
		if why(&rows[i]) != "" {
			n++
		}
	}
	return n
}

// statesText says in which states rows are: how many are not active, the worst first, before them behind how many nothing answers; or that
// all are active.
func statesText(states []Count, silent int) (text, tone string) {
	var others []string
	tone = "good"
	if silent > 0 {
		others, tone = append(others, number(silent)+" not answering"), "bad"
	}
	for _, c := range slices.Backward(states) {
		if c.State == view.StateActive {
			continue
		}
		others = append(others, fmt.Sprintf("%d %s", c.N, strings.ToLower(c.State)))
		if c.State != view.StateReserved && tone == "good" {
			tone = "wait"
		}
	}
	switch {
	case len(states) == 0:
		return "none", ""
	case len(others) == 0:
		return "all active", tone
	case len(others) > 2:
		others = append(others[:2], "…")
	}
	return strings.Join(others, ", "), tone
}

//go:embed assets
var files embed.FS

// asset is a file that the page loads, under a name that changes with it.
type asset struct {
	path, kind string
	content    []byte
}

var (
	style  = newAsset("page.css", "text/css; charset=utf-8")
	script = newAsset("page.js", "text/javascript; charset=utf-8")
	icon   = newAsset("icon.svg", "image/svg+xml")
)

func newAsset(name, kind string) asset {
	content := mustRead(name)
	sum := sha256.Sum256(content)
	ext := path.Ext(name)
	return asset{"assets/" + strings.TrimSuffix(name, ext) + "-" + hex.EncodeToString(sum[:6]) + ext, kind, content}
}

func mustRead(name string) []byte {
	content, err := files.ReadFile("assets/" + name)
	if err != nil { // it is embedded
		panic(err)
	}
	return content
}

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"number": number,
	"tone":   tone,
	"titled": titled,
}).Parse(string(mustRead("page.html"))))

// tones are the states that have a colour of their own.
var tones = append(slices.Clone(stateOrder), "Running", "Crashed", "Undoing", "Closing")

// tone returns the class that colours a state, none for a state that nobody knows.
func tone(state string) string {
	if slices.Contains(tones, state) {
		return strings.ToLower(state)
	}
	return ""
}

// head is the head of a section.
type head struct {
	ID, Title string
	Known     bool
	Total     int
	States    []Count
}

func titled(of interface{ head() head }, title string) head {
	h := of.head()
	h.Title = title
	return h
}

func (s Section[R]) head() head {
	return head{ID: s.ID, Known: s.Known, Total: s.Total, States: s.States}
}

// shown is what the template gets.
type shown struct {
	Board *Board
	// Failed says why the cluster cannot be read, empty if it can.
	Failed string
	// Now is the time by the clock of the cluster.
	Version, Now, Search, Style, Script, Icon string
}

// render returns the page as HTML, at a time by the clock of the cluster. board is nil if nothing was ever read.
func render(board *Board, q Query, failed, version string, now time.Time) ([]byte, error) {
	var html bytes.Buffer
	err := pageTemplate.Execute(&html, shown{
		Board: board, Failed: clip(failed), Version: version, Search: q.Search, Now: now.UTC().Format(time.RFC3339),
		Style: "./" + style.path, Script: "./" + script.path, Icon: "./" + icon.path,
	})
	return visible(html.Bytes()), err
}

// longest is the length of the longest message that is shown, in bytes.
const longest = 1000

// clip shortens a text that others have written.
func clip(text string) string {
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

// number writes a number in groups of three digits.
func number(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}

const (
	// perPage is how many rows of a section are shown at once.
	perPage = 50
	// longestQuery is how much of a search counts, in bytes.
	longestQuery = 200
)

// Query is what of the board is shown: the rows with all words of a search, and of each section one page.
type Query struct {
	Search string
	words  []string
	pages  map[string]int
}

// ParseQuery reads the query of a URL. It ignores what it does not understand.
func ParseQuery(values url.Values) Query {
	q := Query{Search: strings.TrimSpace(values.Get("q")), pages: map[string]int{}}
	if len(q.Search) > longestQuery {
		q.Search = strings.ToValidUTF8(q.Search[:longestQuery], "")
	}
	q.words = strings.Fields(strings.ToLower(q.Search))
	for _, section := range sections {
		if n, err := strconv.Atoi(values.Get(section)); err == nil && n > 1 {
			q.pages[section] = n
		}
	}
	return q
}

// finds reports whether a row with these texts has all words.
func (q *Query) finds(texts ...string) bool {
	return !slices.ContainsFunc(q.words, func(word string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), word) })
	})
}

// link returns the URL of the page with one section on another page of it.
func (q *Query) link(section string, page int) string {
	values := url.Values{}
	if q.Search != "" {
		values.Set("q", q.Search)
	}
	for s, n := range q.pages {
		values.Set(s, strconv.Itoa(n))
	}
	values.Del(section)
	if page > 1 {
		values.Set(section, strconv.Itoa(page))
	}
	return "./?" + values.Encode() + "#" + section
}

// Pager says which rows of a section are shown.
type Pager struct {
	First, Last, Matching, Total int
	// Nothing is true if a search finds none of the section, which is not shown then.
	Nothing bool
	// Before and After are links to other pages, empty if there are none.
	Before, After string
}

// cut returns the rows of the page that the query asks for, the last one if there are fewer.
func cut[R any](q *Query, section string, rows []R, total int) ([]R, Pager) {
	last := max(1, (len(rows)+perPage-1)/perPage)
	page := min(max(1, q.pages[section]), last)
	from, to := (page-1)*perPage, min(page*perPage, len(rows))
	p := Pager{First: from + 1, Last: to, Matching: len(rows), Total: total}
	if page > 1 {
		p.Before = q.link(section, page-1)
	}
	if page < last {
		p.After = q.link(section, page+1)
	}
	return rows[from:to], p
}
