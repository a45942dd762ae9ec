package apply

import (
	"context"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// UnprovedError reports hosts that the tenant has not proved to control. Nothing was changed.
type UnprovedError struct {
	Lease lease.ID
	Hosts []UnprovedHost
}

// UnprovedHost is a host and why it is not proved.
type UnprovedHost struct {
	Host string
	At   lease.Place
	Err  error
}

func (e *UnprovedError) Error() string {
	var lines []string
	for _, h := range e.Hosts {
		lines = append(lines, "host "+h.Host+" is not proved: "+h.Err.Error())
	}
	return strings.Join(lines, "; ")
}

// proof is the result for one host of one owner.
type proof struct {
	how string
	err error
}

// prove checks all hosts that requests ask for before anything is claimed. It returns an error for each request, nil if all
// its hosts are proved or no proof is required.
func (a *Applier) prove(ctx context.Context, requests []state.Request) []error {
	errs := make([]error, len(requests))
	if a.Command.Options.Prove == nil {
		return errs
	}
	type question struct{ owner, host string }
	proofs := map[question]*proof{} // one goroutine fills each entry; only this one adds entries
	group := parallel.New(a.Command.Options.Concurrency)
	for _, r := range requests {
		for _, w := range r.Hosts {
			q := question{r.Lease.Owner, w.Host}
			if proofs[q] != nil {
				continue
			}
			p := &proof{}
			proofs[q] = p
			if w.Own {
				p.how = "the provider gives it"
				continue
			}
			group.Go(func() error {
				p.err = parallel.Guard(func() (err error) {
					p.how, err = a.Command.Options.Prove(ctx, q.owner, q.host)
					return err
				})
				return nil
			})
		}
	}
	_ = group.Wait() // the errors are in proofs
	for i, r := range requests {
		if errs[i] = ctx.Err(); errs[i] == nil {
			errs[i] = a.reportProofs(r, func(host string) *proof { return proofs[question{r.Lease.Owner, host}] })
		}
	}
	return errs
}

// reportProofs reports for each host of a request whether it is proved.
func (a *Applier) reportProofs(r state.Request, of func(host string) *proof) error {
	unproved := &UnprovedError{Lease: r.Lease}
	for i, w := range r.Hosts {
		if i > 0 && w.Host == r.Hosts[i-1].Host {
			continue
		}
		p := of(w.Host)
		e := report.Event{Time: time.Now(), Action: report.Proved, Lease: r.Lease, Kind: string(w.Hold(r.Lease).Kind), Name: w.Host, Message: p.how}
		if p.err != nil {
			e.Action, e.Message = report.Unproved, p.err.Error()
			unproved.Hosts = append(unproved.Hosts, UnprovedHost{Host: w.Host, At: w.At, Err: p.err})
		}
		a.Command.Send(e)
	}
	if len(unproved.Hosts) > 0 {
		return unproved
	}
	return nil
}
