package page

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

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
