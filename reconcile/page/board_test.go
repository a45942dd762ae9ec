package page_test

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/akash-net/kubectl-akash-net/reconcile/page"
	"github.com/akash-net/kubectl-akash-net/reconcile/page/pagetest"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

func board(t *testing.T, s *page.Seen, query string) *page.Board {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	return page.NewBoard(s, page.ParseQuery(values))
}

// The HTML of the page, whose every change one reads.
func TestGolden(t *testing.T) {
	for name, c := range map[string]struct {
		seen  *page.Seen
		query string
	}{
		"found":   {pagetest.Seen(t), "q=shop.example.com"},
		"hostile": {pagetest.Harmful(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			answer := get(t, shows(t, c.seen), "/?"+c.query)
			got := answer.Body.String()
			got = got[strings.Index(got, "<main"):]
			golden.Check(t, "testdata/"+name+".html", got)
		})
	}
}

// Whatever tenants write becomes text: no element, no attribute, no link to somewhere else, and no character that nobody sees.
func TestHostileTextIsText(t *testing.T) {
	answer := get(t, shows(t, pagetest.Harmful()), "/?q="+url.QueryEscape("<script>\u202e\x01\""))
	all := get(t, shows(t, pagetest.Harmful()), "/").Body.String()
	for _, text := range []string{answer.Body.String(), all} {
		for _, r := range text {
			if r == '\u202e' || r < ' ' && r != '\n' || r == 0x7f {
				t.Fatalf("%q is on the page", r)
			}
		}
		for e := range elements(t, text) {
			checkElement(t, e)
		}
	}
	if !strings.Contains(all, `\u202egnp.exe\x1b[31m`) {
		t.Error("the characters that nobody would see are not shown")
	}
	if n := len(all); n > 100_000 {
		t.Errorf("a long text makes the page %d bytes long", n)
	}
}

func elements(t *testing.T, text string) func(func(*html.Node) bool) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(*html.Node) bool) {
		for n := range doc.Descendants() {
			if n.Type == html.ElementNode && !yield(n) {
				return
			}
		}
	}
}

func checkElement(t *testing.T, e *html.Node) {
	t.Helper()
	if e.Data == "img" || e.Data == "script" && e.FirstChild != nil || e.Data == "style" {
		t.Errorf("the page has an element %s", e.Data)
	}
	for _, a := range e.Attr {
		switch {
		case strings.HasPrefix(a.Key, "on"), a.Key == "style":
			t.Errorf("%s has an attribute %s", e.Data, a.Key)
		case a.Key != "href" && a.Key != "src" && a.Key != "action":
		case strings.HasPrefix(a.Val, "#"), strings.HasPrefix(a.Val, "./"), a.Val == "http://shop.example.com/@evil.example.com/":
		default:
			t.Errorf("%s leads to %s", e.Data, a.Val)
		}
	}
}

// All IDs of a page differ: links lead to one place.
func TestIDsDiffer(t *testing.T) {
	for _, s := range []*page.Seen{pagetest.Seen(t), pagetest.Harmful(), pagetest.Many(120)} {
		seen := map[string]bool{}
		for e := range elements(t, get(t, shows(t, s), "/").Body.String()) {
			for _, a := range e.Attr {
				if a.Key == "id" && seen[a.Val] {
					t.Errorf("two elements have the ID %s", a.Val)
				} else if a.Key == "id" {
					seen[a.Val] = true
				}
			}
		}
	}
}

// What is found and what can be followed: testdata/board.txt.
//
//	search   a query: a row has all of its words, in any of its texts, and pages are cut from what is found
//	copy     a command, quoted, can be copied if a shell takes it as one reads it
//	link     only names of hosts that are served become links
func TestBoards(t *testing.T) {
	s := pagetest.Seen(t)
	golden.Rules{
		"search": func(line string) string {
			b := board(t, s, strings.ReplaceAll(line, "LONG", strings.Repeat("long+", 9999)))
			return fmt.Sprintf("%d hosts, %d addresses, %+v", len(b.Hosts.Rows), len(b.Addresses.Rows), b.Addresses.Pager)
		},
		"copy": func(line string) string {
			command, err := strconv.Unquote(`"` + line + `"`)
			if err != nil {
				t.Fatal(err)
			}
			s := &page.Seen{At: pagetest.Now}
			s.Book.Problems = []state.Problem{{Problem: "P", Thing: "t", Command: strings.ReplaceAll(command, "LONG", strings.Repeat("x", 1000))}}
			return fmt.Sprint(board(t, s, "").Problems.Rows[0].Copy)
		},
		"link": func(line string) string {
			s := &page.Seen{At: pagetest.Now}
			s.Book.Hosts = []view.HostRow{pagetest.Host(line, lease0, view.StateActive, 1), pagetest.Host(line, lease0, view.StateReserved, 1)}
			rows := board(t, s, "").Hosts.Rows
			if rows[1].URL != "" {
				t.Errorf("%q, which is not served, leads to %q", line, rows[1].URL)
			}
			return rows[0].URL
		},
	}.Check(t, "testdata/board.txt")
}

// What was not read is not shown as if there were none.
func TestUnreadIsNotNone(t *testing.T) {
	b := board(t, &page.Seen{At: pagetest.Now}, "")
	for _, tile := range b.Tiles {
		if tile.Number != "–" {
			t.Errorf("it says %+v", tile)
		}
	}
	text := get(t, shows(t, &page.Seen{At: pagetest.Now}), "/").Body.String()
	if strings.Contains(text, "No problems were found") || !strings.Contains(text, "They were not read") {
		t.Error("problems that were not read are shown as none")
	}
	none := &page.Seen{At: pagetest.Now}
	none.Book.Problems = []state.Problem{}
	if text := get(t, shows(t, none), "/").Body.String(); !strings.Contains(text, "No problems were found") {
		t.Error("it does not say that there are no problems")
	}
}

// Six hosts that are routed and behind which nothing answers are not "all active", and one whose route does not lead to its Service is
// not routed.
func TestWhatDoesNotAnswer(t *testing.T) {
	s := &page.Seen{At: pagetest.Now}
	for i := range 6 {
		row := pagetest.Host(fmt.Sprintf("h%d.example.com", i), lease0, view.StateActive, 1)
		row.Endpoints = &view.Endpoints{Missing: view.MissingService}
		s.Book.Hosts = append(s.Book.Hosts, row)
	}
	s.Book.Hosts = append(s.Book.Hosts, pagetest.Host("changed.example.com", lease0, view.StatePending, 1))
	b := board(t, s, "")
	tile := b.Tiles[slices.IndexFunc(b.Tiles, func(t page.Tile) bool { return t.Section == "hosts" })]
	if tile.Detail != "6 not answering, 1 pending" || tile.Tone != "bad" {
		t.Errorf("the tile says %+v", tile)
	}
	if first, last := b.Hosts.Rows[0], b.Hosts.Rows[6]; first.Routed != "ingress" || first.Answers.Text != "no Service" || last.Routed != "no" {
		t.Errorf("the rows are %+v and %+v", first, last)
	}
}

// A search shows the sections in which it finds something, and no other.
func TestSearchShowsWhatIsFound(t *testing.T) {
	for query, want := range map[string]string{
		"":                 "problems commands pools resources hosts addresses leases",
		"cdn.example.net":  "problems hosts leases",
		"node-1":           "resources",
		"nowhere.example.": "",
	} {
		var shown []string
		found := true
		for e := range elements(t, get(t, shows(t, pagetest.Seen(t)), "/?q="+query).Body.String()) {
			attributes := map[string]string{"hidden": "no"}
			for _, a := range e.Attr {
				attributes[a.Key] = a.Val
			}
			if e.Data == "section" && attributes["hidden"] == "no" {
				shown = append(shown, attributes["id"])
			}
			found = found && attributes["id"] != "nothing"
		}
		if got := strings.Join(shown, " "); got != want || found != (want != "") {
			t.Errorf("%q shows %q, want %q; it finds something: %t", query, got, want, found)
		}
	}
}

// The version changes with what is shown, and only with that.
func TestVersion(t *testing.T) {
	a, b := pagetest.Seen(t), pagetest.Seen(t)
	b.At = b.At.Add(time.Second)
	b.Runs[0].Renewed = b.At
	if a.Version() != b.Version() {
		t.Error("a renewal is a change")
	}
	for what, change := range map[string]func(*page.Seen){
		"a host":    func(s *page.Seen) { s.Book.Hosts[3].State = view.StatePending },
		"a problem": func(s *page.Seen) { s.Book.Problems = s.Book.Problems[1:] },
		"a command": func(s *page.Seen) { s.Runs[0].Phase = state.Undoing },
		"a crash":   func(s *page.Seen) { s.At = s.At.Add(time.Hour) },
		"a note":    func(s *page.Seen) { s.Notes = []string{"x"} },
		"a node":    func(s *page.Seen) { s.Book.Pools[0].Nodes = nil },
	} {
		c := pagetest.Seen(t)
		if change(c); c.Version() == a.Version() {
			t.Errorf("%s changes nothing", what)
		}
	}
}

// A look is due when a hold or a command expires, though nothing is written then.
func TestNextEnd(t *testing.T) {
	s := pagetest.Seen(t)
	if got, want := s.NextEnd(), s.Runs[0].Renewed.Add(s.Runs[0].Lasts+state.Margin+time.Second); !got.Equal(want) {
		t.Errorf("it is %s, not %s", got, want)
	}
	s.Runs = nil
	if got, want := s.NextEnd(), pagetest.Now.Add(20*time.Minute+state.Margin+time.Second); !got.Equal(want) {
		t.Errorf("it is %s, not %s", got, want)
	}
}

func get(t *testing.T, p *page.Page, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "http://localhost/", nil)
	r.URL, _ = url.Parse(path)
	p.ServeHTTP(w, r)
	return w
}
