package protocol

import (
	"time"

	"github.com/akash-net/kubectl-akash-net/state"
)

// Watch is what a command has seen of the announcements of others. It judges whether a command is alive by whether its
// announcement changes while one looks at it, by a steady clock, as the leader election of client-go does. The times in
// an announcement decide nothing: the clocks of API servers may differ by hours.
type Watch map[string]Sighting

// Sighting is the version of an announcement, and when it was first seen.
type Sighting struct {
	Version string
	Since   time.Time
}

// Over reports whether an announcement has not changed for as long as it is valid, while it was watched: its command has
// crashed. now is by the watcher's steady clock. An uninstall renews nothing.
func (w Watch) Over(a *state.Announcement, now time.Time) bool {
	seen, known := w[a.Nonce]
	if !known || seen.Version != a.ResourceVersion {
		w[a.Nonce] = Sighting{a.ResourceVersion, now}
		return false
	}
	return a.Phase != state.Closing && now.Sub(seen.Since) >= a.Patience()
}
