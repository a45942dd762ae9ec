package state

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Of several reconcilers with the same sources one works. They elect it by a Lease in the namespace of the ledger, and it records on
// another one which leases it fails to bring to what they are to be; that is absent while there are none. No host has such a name
// (lease.IsReserved).
const (
	electionPrefix = "el--"
	failingPrefix  = "fl--"
	// Reconciler is the name of the reconciler's Deployment.
	Reconciler = "akash-net-reconciler"
)

// LabelComponent is the label by which the Leases of elections (ComponentElection) and of failing leases (ComponentFailing) are found;
// LabelInstance has the sources of an election, as far as a label can.
const (
	LabelComponent    = "app.kubernetes.io/component"
	LabelInstance     = "app.kubernetes.io/instance"
	ComponentElection = "reconciler-election"
	ComponentFailing  = "reconciler-failing"
)

// ElectionName returns the name of the Lease by which reconcilers with a set of sources elect the one that works.
func ElectionName(set []string) string { return electionPrefix + lease.Hash(strings.Join(set, "\n")) }

// FailingName returns the name of the Lease on which the one that works for a set of sources records failing leases.
func FailingName(set []string) string { return failingPrefix + lease.Hash(strings.Join(set, "\n")) }

// IsElection reports whether a Lease with a name is that of an election.
func IsElection(name string) bool { return strings.HasPrefix(name, electionPrefix) }

// IsFailing reports whether a Lease with a name is a record of failing leases.
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

// AnnotationFailing is the annotation with that record, as JSON.
const AnnotationFailing = lease.Domain + "/failing"

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
