package page

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Seen is what the page is made from: what was read of the cluster at one moment, and what the reconciler knows.
type Seen struct {
	// At is when it was read, by the API server's clock.
	At time.Time
	// Book has the rows. A list that is nil was not read, and is not shown as empty.
	Book view.Book
	// Runs are the announcements of the commands that are under way or have crashed.
	Runs []*state.Announcement
	// Notes say what could not be read, and why.
	Notes []string

	version string
	// read is when it was read, by the clock of this machine.
	read time.Time
}

// Version names what is shown: two that look the same have the same version, whoever has read them.
func (s *Seen) Version() string {
	if s.version != "" {
		return s.version
	}
	h := sha256.New()
	encode := json.NewEncoder(h)
	sources := []any{s.Book, s.Notes}
	for _, r := range s.Book.Pools {
		sources = append(sources, r.Nodes)
	}
	for _, a := range s.Runs { // that a command renews its announcement changes nothing
		sources = append(sources, a.Stands(s.At), a.Groups)
	}
	for _, source := range sources {
		if err := encode.Encode(source); err != nil { // of numbers that JSON has not, of which there are none
			return err.Error()
		}
	}
	s.version = hex.EncodeToString(h.Sum(nil)[:8])
	return s.version
}

// NextEnd returns when a hold or a command expires next, which no write announces, or the zero time.
func (s *Seen) NextEnd() time.Time {
	next := s.Book.NextEnd(s.At)
	for _, a := range s.Runs {
		end := a.Renewed.Add(a.Lasts + state.Margin + time.Second)
		if a.Phase != state.Fenced && end.After(s.At) && (next.IsZero() || end.Before(next)) {
			next = end
		}
	}
	return next
}
