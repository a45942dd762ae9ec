package diagnose

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// ledgerObject refers to an object of the ledger as it was read.
func (w *World) ledgerObject(name, uid, version string) []state.ObjectRef {
	return []state.ObjectRef{{Kind: "lease", Namespace: w.Config.LedgerNamespace, Name: name, UID: uid, ResourceVersion: version}}
}

// crashedRuns finds announcements of crashed commands that left no marks, of crashed uninstalls, and those that cannot be read. No command
// takes a claim until the ledger is opened again that an uninstall has closed; one whose namespace is being deleted goes, and nothing opens it.
func crashedRuns(w *World) (out []state.Problem) {
	marked := map[string]bool{}
	for _, c := range w.Contents.Claims {
		for _, nonce := range c.Nonces() {
			marked[nonce] = true
		}
	}
	closed := func(base state.Problem, message, nonce string) {
		if w.Namespaces[w.Config.LedgerNamespace] {
			out = append(out, fill(base, state.CrashedRun, message+"; no command can claim anything", "open the ledger again, as install does",
				&state.Fix{Do: state.OpenLedger, Value: nonce}))
		}
	}
	for _, a := range w.Runs {
		base := state.Problem{Thing: a.Name(), Since: metav1.NewTime(a.Begun)}
		switch {
		case a.Unreadable != "":
			out = append(out, fill(base, state.UnreadableClaim,
				"it cannot be read as the announcement of a run, so commands for the leases that it names cannot begin: "+a.Unreadable,
				"look who wrote it, and delete it where no command of theirs is at work",
				&state.Fix{Do: state.Drop, Objects: w.ledgerObject(a.Name(), string(a.UID), a.ResourceVersion)}).ByName())
		case !w.isDead(a):
		case a.Phase == state.Closing:
			closed(base, a.String()+", did not finish to uninstall the ledger", a.Nonce)
		case !marked[a.Nonce]:
			base.Lease = a.Groups[0].String()
			out = append(out, fill(base, state.CrashedRun, a.String()+", did not finish, and nothing of it remains",
				"take its announcement away", &state.Fix{Do: state.EndAnnouncement, Of: a.Groups}))
		}
	}
	if w.ClosedBy != "" && w.runs[w.ClosedBy] == nil {
		closed(state.Problem{Thing: state.AnnouncementName(w.ClosedBy)}, "an uninstall has closed the ledger, and is not announced", w.ClosedBy)
	}
	return out
}

// ledgerProblems finds what is wrong with reservations, what runs for leases that are over, and leases that fail.
func ledgerProblems(w *World) (out []state.Problem) {
	for _, c := range w.Contents.Reservations {
		drop := &state.Fix{Do: state.Drop, Objects: w.ledgerObject(c.ObjectName, string(c.UID), c.ResourceVersion)}
		x := state.Problem{Thing: "order/" + c.Order.String(), Since: metav1.NewTime(c.Created)}
		switch {
		case c.Deleting:
		case c.Unreadable != "":
			x.Thing = c.ObjectName
			means := "what cannot be read of it takes no room, and its order cannot reserve: "
			if !state.IsReservation(c.ObjectName) {
				means = "nobody can claim what has its name: "
			}
			out = append(out, fill(x, state.UnreadableClaim, means+c.Unreadable, "look who wrote it, and delete it", drop).ByName())
		case c.Over(w.Now):
			out = append(out, fill(x, state.HoldEnded, "what it has reserved has expired; it was reserved by "+cmp.Or(c.Part().By, "nobody that is known"),
				"give up the reservation", drop))
		case w.Lost[c.ObjectName]:
			out = append(out, byHand(x, state.RoomGone, "the cluster no longer has room for what it has reserved: "+
				"a node or a storage class is gone, closed or smaller, or an address range is",
				"reserve again when there is room, or give up what a bid that was lost has reserved: kubectl akash-net order release "+c.Order.String(),
				"kubectl akash-net order reserve "+c.Order.String()+" -f FILE"))
		}
	}
	out = append(out, strayWorkloads(w)...)
	for _, f := range w.Failing {
		out = append(out, failing(w, f))
	}
	return out
}

// strayWorkloads finds what this program runs for leases that are over as far as the cluster shows: a command that counted
// as crashed has written it late, or the ledger was lost. It may serve a tenant, so only release ends it.
func strayWorkloads(w *World) (out []state.Problem) {
	if len(w.Manifests) == 0 {
		return nil
	}
	expected, definitions := sets.New[lease.Group](), sets.New[string]()
	for _, c := range w.Contents.Reservations {
		if !c.Deleting && !c.Over(w.Now) {
			expected.Insert(c.Order.Group())
		}
	}
	for _, a := range w.Runs {
		if a.Nonce != w.Own && !w.isDead(a) {
			expected.Insert(a.Groups...)
		}
	}
	for _, k := range w.Definitions {
		definitions.Insert(k.Name) // also of those that cannot be read
	}
	for _, m := range w.Manifests {
		g, of := m.Group.String(), w.of(m.Group)
		if m.Deleting || w.Now.Sub(m.Written) < w.CrashedAfter || of.entered || len(of.objects) > 0 || expected.Has(m.Group) ||
			definitions.Has(kept.Name(m.Group)) {
			continue
		}
		out = append(out, byHand(state.Problem{Thing: g, Namespace: m.Namespace, Lease: g, Since: metav1.NewTime(m.Written)}, state.StrayWorkload,
			"a workload of it is in namespace "+m.Namespace+", and nothing else names the lease: no claim, no kept definition, "+
				"no reservation, no route and no command at work",
			"release it or, if it is not over, apply it again with --workloads", "kubectl akash-net release "+g))
	}
	return out
}

// failing is the problem of a lease that the reconciler fails to bring to what it is to be.
func failing(w *World, f state.Failing) state.Problem {
	namespace, history := "", "" // only what has a namespace has a story
	if id, err := lease.ParseID(f.Lease); err == nil {
		if namespace = id.Namespace(); w.Namespaces[namespace] {
			history = "kubectl akash-net events " + f.Lease
		}
	}
	again, often := "tries again by itself, at %s at the latest", fmt.Sprintf("%d times in a row", f.Count)
	if w.Now.After(f.Next) {
		again = "was to try again at %s: it does so now, or has ended"
	}
	if f.Count == 1 {
		often = "once"
	}
	return byHand(state.Problem{Thing: f.Lease, Namespace: namespace, Lease: f.Lease, Since: metav1.NewTime(f.Since)}, state.LeaseFails,
		fmt.Sprintf("the reconciler has failed %s: %s", often, strings.ReplaceAll(f.Error, "\n", "; ")),
		"fix the cause that the message names; the reconciler "+fmt.Sprintf(again, f.Next.UTC().Format(time.RFC3339)), history)
}

// isDead reports whether the command of the announcement has crashed and no running command has taken over its work.
// The command that asks counts what it has taken over itself.
func (w *World) isDead(a *state.Announcement) bool {
	if a == nil || a.Unreadable != "" {
		return false // it has ended since the claim was read, or nobody knows whether its command is at work
	}
	if a.Phase != state.Fenced {
		return a.Nonce != w.Own && a.Dead(w.Now, w.CrashedAfter)
	}
	by := w.runs[a.FencedBy]
	return a.FencedBy == w.Own || by == nil || by.Phase == state.Fenced || by.Dead(w.Now, w.CrashedAfter)
}

// hasCrashed reports whether the run with the mark has crashed: its command no longer renews its announcement, or ended
// with unfinished work.
func (w *World) hasCrashed(mark string) bool {
	return mark != "" && w.isDead(w.runs[state.NonceOf(mark)])
}
