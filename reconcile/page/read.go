package page

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/apply/book"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/diagnosis"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// resourcesEvery is how old the resources get at most: they are computed from all pods and nodes.
const resourcesEvery = 30 * time.Second

// Reader reads what the page shows of a cluster. Its calls follow each other.
type Reader struct {
	Cluster *cluster.Cluster
	Config  *config.ProviderConfig
	// CrashedAfter is after which time without a write a command counts as crashed.
	CrashedAfter time.Duration

	resources []view.ResourceRow
	note      string
	at        time.Time
}

// Read reads it: hosts, addresses, leases, pools, orders and commands, or it fails; problems and resources if it may.
func (r *Reader) Read(ctx context.Context) (*Seen, error) {
	var s Seen
	var problems []state.Problem
	var unknown error
	group, all := parallel.WithContext(ctx)
	group.Go(func() error {
		subjects := append(slices.Clone(view.Holdings), view.SubjectOrders, view.SubjectEndpoints)
		if r.Config.Workloads.Enabled {
			subjects = append(subjects, view.SubjectWorkloads)
		}
		b, err := book.Read(all, r.Cluster, r.Config, subjects...)
		if mayNot(err) && r.Config.Workloads.Enabled {
			s.Notes = append(s.Notes, "The state of workloads is not shown: "+err.Error())
			b, err = book.Read(all, r.Cluster, r.Config, subjects[:len(subjects)-1]...)
		}
		if err == nil {
			s.Book = *b
		}
		return err
	})
	group.Go(func() (err error) {
		s.Runs, err = ledger.New(r.Cluster, r.Config.LedgerNamespace).Announcements.List(all)
		s.Runs = append([]*state.Announcement{}, s.Runs...) // known, if there are none
		return err
	})
	group.Go(func() error {
		problems, unknown = diagnosis.Problems(all, r.Cluster, r.Config, r.CrashedAfter, "")
		return nil
	})
	group.Go(func() error { r.readResources(all); return nil })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	s.At = r.Cluster.Now()
	if s.Book.Problems = append([]state.Problem{}, problems...); unknown != nil {
		s.Book.Problems = nil
		s.Notes = append(s.Notes, "Problems are not shown: "+unknown.Error())
	}
	if s.Book.Resources = r.resources; r.note != "" {
		s.Notes = append(s.Notes, r.note)
	}
	return &s, nil
}

// readResources reads the resources, unless they were read a moment ago.
func (r *Reader) readResources(ctx context.Context) {
	if time.Since(r.at) < resourcesEvery {
		return
	}
	b, err := book.Read(ctx, r.Cluster, r.Config, view.SubjectResources)
	if r.resources, r.note = nil, ""; err != nil {
		r.note = "Resources are not shown: " + err.Error()
		return
	}
	r.resources, r.at = b.Resources, time.Now()
}

// mayNot reports whether a right is missing.
func mayNot(err error) bool {
	_, role := errors.AsType[*cluster.RoleError](err)
	return role || apierrors.IsForbidden(err)
}

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

// visible returns HTML in which the characters are shown that nobody would see: controls, and those that change the order of other
// characters. The whole page goes through it.
func visible(html []byte) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(html); {
		r, size := utf8.DecodeRune(html[i:])
		if hidden(r, size) {
			out = append(out, html[from:i]...)
			if size == 1 {
				out = fmt.Appendf(out, `\x%02x`, html[i])
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
			from = i + size
		}
		i += size
	}
	if from == 0 {
		return html
	}
	return append(out, html[from:]...)
}

func hidden(r rune, size int) bool {
	if r < utf8.RuneSelf {
		return r < ' ' && r != '\n' && r != '\t' || r == 0x7f
	}
	return r == utf8.RuneError && size == 1 || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}
