package apply

import (
	"context"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
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

// prove checks all hosts that the runs want before anything is claimed. It returns an error for each run, nil if all
// its hosts are proved or no proof is required.
func (a *Applier) prove(ctx context.Context, runs []*run) []error {
	errs := make([]error, len(runs))
	if a.Options.Prove == nil {
		return errs
	}
	type question struct{ owner, host string }
	proofs := map[question]*proof{} // one goroutine fills each entry; only this one adds entries
	group := parallel.New(a.Options.Concurrency)
	for _, r := range runs {
		for _, w := range r.Request.Hosts {
			q := question{r.Group.Owner, w.Host}
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
					p.how, err = a.Options.Prove(ctx, q.owner, q.host)
					return err
				})
				return nil
			})
		}
	}
	_ = group.Wait() // the errors are in proofs
	for i, r := range runs {
		if errs[i] = ctx.Err(); errs[i] == nil {
			errs[i] = r.reportProofs(func(host string) *proof { return proofs[question{r.Group.Owner, host}] })
		}
	}
	return errs
}

// reportProofs reports for each host of the run whether it is proved.
func (r *run) reportProofs(of func(host string) *proof) error {
	unproved := &UnprovedError{Lease: r.Request.Lease}
	for i, w := range r.Request.Hosts {
		if i > 0 && w.Host == r.Request.Hosts[i-1].Host {
			continue
		}
		kind := string(w.Hold(r.Request.Lease).Kind)
		if p := of(w.Host); p.err != nil {
			r.Event(report.Unproved, kind, "", w.Host, p.err.Error())
			unproved.Hosts = append(unproved.Hosts, UnprovedHost{Host: w.Host, At: w.At, Err: p.err})
		} else {
			r.Event(report.Proved, kind, "", w.Host, p.how)
		}
	}
	if len(unproved.Hosts) > 0 {
		return unproved
	}
	return nil
}
