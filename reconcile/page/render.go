package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

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
