package state

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Of several reconcilers with the same sources one works. They elect it by a Lease in the namespace of the ledger, and it records on
// another one which leases it fails to bring to what they are to be; that is absent while there are none. A third one has, for a source of
// files, the leases that were released last because it did not name them any more. No host has such a name (lease.IsReserved).
const (
	electionPrefix = "el--"
	failingPrefix  = "fl--"
	// Reconciler is the name of the reconciler's Deployment.
	Reconciler = "akash-net-reconciler"
)

// LabelComponent is the label by which the Leases of elections (ComponentElection), of failing leases (ComponentFailing) and of released
// ones (ComponentReleased) are found; LabelInstance has the sources, as far as a label can.
const (
	LabelComponent    = "app.kubernetes.io/component"
	LabelInstance     = "app.kubernetes.io/instance"
	ComponentElection = "reconciler-election"
	ComponentFailing  = "reconciler-failing"
	ComponentReleased = "reconciler-released"
)

// ElectionName returns the name of the Lease by which reconcilers with a set of sources elect the one that works.
func ElectionName(set []string) string { return electionPrefix + lease.Hash(strings.Join(set, "\n")) }

// FailingName returns the name of the Lease on which the one that works for a set of sources records failing leases.
func FailingName(set []string) string { return failingPrefix + lease.Hash(strings.Join(set, "\n")) }

// ReleasedName returns the name of the Lease on which those are recorded that were released of a source.
func ReleasedName(source string) string { return failingPrefix + lease.Hash("released of "+source) }

// IsElection reports whether a Lease with a name is that of an election.
func IsElection(name string) bool { return strings.HasPrefix(name, electionPrefix) }

// IsFailing reports whether a Lease with a name is a record of failing leases, or of released ones.
func IsFailing(name string) bool { return strings.HasPrefix(name, failingPrefix) }

// Instance returns a set of sources as the value of LabelInstance.
func Instance(set []string) string {
	text := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r)) {
			return r
		}
		return '-'
	}, strings.Join(set, "_"))
	return strings.Trim(text[:min(len(text), validation.LabelValueMaxLength)], "-_.")
}

const (
	// AnnotationFailing is the annotation with the record of failing leases, as JSON.
	AnnotationFailing = lease.Domain + "/failing"
	// AnnotationReleased is the one with released deployment groups, separated by spaces.
	AnnotationReleased = lease.Domain + "/released"
)

// Failing is a lease that the reconciler has failed to bring to what it is to be.
type Failing struct {
	// Lease is its name: OWNER/DSEQ/GSEQ/OSEQ/PROVIDER, or the deployment group's if the lease is unknown.
	Lease string `json:"lease"`
	// Error is why it fails.
	Error string `json:"error"`
	// Count is how often it has failed in a row, Since the first time. It is tried again at Next at the latest. The times are the
	// reconciler's.
	Count int       `json:"count"`
	Since time.Time `json:"since"`
	Next  time.Time `json:"next"`
}

// Late is how long after the time at which a failing lease is tried again its record says nothing any more: the reconciler has ended, or
// it would have written another one. Three times that is the latest next try that is believed: the longest pause, and clocks that differ.
const Late = 5 * time.Minute

// The limits of the record, in bytes: of the whole, far below the 256 KiB that all annotations of an object may have, and of an error.
const (
	mostRecorded = 128 << 10
	mostError    = 1000
)

// RecordFailing returns the record of failing leases: the first of them, as far as there is room.
func RecordFailing(all []Failing) (string, error) {
	var out strings.Builder
	for _, f := range all {
		if len(f.Error) > mostError {
			f.Error = strings.ToValidUTF8(f.Error[:mostError], "") + "…"
		}
		line, err := json.Marshal(f)
		if err != nil {
			return "", err
		}
		if out.Len()+len(line) >= mostRecorded {
			break
		}
		out.Write(append(line, '\n'))
	}
	return out.String(), nil
}

// RecordReleased returns the record of released deployment groups, as far as there is room.
func RecordReleased(groups []lease.Group) string {
	var out strings.Builder
	for _, g := range groups {
		if text := g.String(); out.Len()+len(text) < mostRecorded {
			out.WriteString(text + " ")
		}
	}
	return strings.TrimSpace(out.String())
}

// ReadReleased returns the deployment groups of that record, without what cannot be read.
func ReadReleased(record string) (groups []lease.Group) {
	for _, text := range strings.Fields(record) {
		if g, err := lease.ParseGroup(text); err == nil {
			groups = append(groups, g)
		}
	}
	return groups
}

// ReadFailing returns the failing leases of a record that are to be believed now. It skips what cannot be read, and names that are not of
// leases: whoever may write Leases may write the record, and people type back the names that they see.
func ReadFailing(record string, now time.Time) (all []Failing) {
	for line := range strings.Lines(record) {
		var f Failing
		if json.Unmarshal([]byte(line), &f) == nil && isLeaseName(f.Lease) && now.Sub(f.Next) < Late && f.Next.Sub(now) < 3*Late {
			all = append(all, f)
		}
	}
	return all
}

func isLeaseName(name string) bool {
	if id, err := lease.ParseID(name); err == nil {
		return id.String() == name
	}
	g, err := lease.ParseGroup(name)
	return err == nil && g.String() == name
}

// KindResources is the value of the kind label of a claim that reserves resources for an order (package reserved). Such
// a claim has no parts and is not a Claim.
const KindResources = "resources"

// ReservationPrefix starts the name of each reservation.
const ReservationPrefix = "rs--"

// IsReservation reports whether the name is the name of a reservation.
func IsReservation(name string) bool { return strings.HasPrefix(name, ReservationPrefix) }

// maxSettings limits the settings of all routes of a lease, in bytes: each host has a copy of those of its port. 5000
// hosts with the longest settings of nginx that Akash knows stay far below it.
const maxSettings = 16 << 20

// settingsOf returns the size of the settings that each route of an expose has, in bytes.
func settingsOf(e *lease.Expose) (n int) {
	for _, text := range e.HTTP.NextCases {
		n += len(text)
	}
	if e.Routing == nil {
		return n
	}
	for _, h := range slices.Concat(e.Routing.Headers.Request, e.Routing.Headers.Response) {
		n += len(h.Name) + len(h.Value)
	}
	for _, a := range e.Routing.Annotations {
		n += len(a.Key) + len(a.Value)
	}
	for key, value := range e.Routing.Labels {
		n += len(key) + len(value)
	}
	return n
}

// checkLimits returns a problem for each limit of the configuration that the definition exceeds.
func checkLimits(def *lease.Definition, limits config.Limits) lease.Problems {
	hosts, ports, settings := 0, 0, 0
	for _, s := range def.Services {
		ports += len(s.Expose)
		for _, e := range s.Expose {
			hosts += len(e.Hosts)
			settings += len(e.Hosts) * settingsOf(&e)
		}
	}
	var problems lease.Problems
	for _, bound := range []struct {
		what, key string
		has, most int
	}{
		{"services", "limits.services", len(def.Services), limits.Services},
		{"hosts, each path counted", "limits.hosts", hosts, limits.Hosts},
		{"exposed ports", "limits.ports", ports, limits.Ports},
	} {
		if bound.most > 0 && bound.has > bound.most {
			problems.Add(def.At, "the lease has %d %s; the provider's configuration allows %d (%s)",
				bound.has, bound.what, bound.most, bound.key)
		}
	}
	if settings > maxSettings {
		problems.Add(def.At, "the routes of the lease have %d MiB of headers, labels and other settings, which each host repeats; at most %d MiB are allowed",
			settings>>20, maxSettings>>20)
	}
	return problems
}
