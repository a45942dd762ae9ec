package change

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/report"
)

// printer prints what happens while a command does not end: what has changed, and what has failed, once until something else happens to
// the lease. Several commands report to it at once.
type printer struct {
	console *console.Console
	output  string
	next    func(report.Event)

	mu sync.Mutex
	// last are the errors of leases that were printed last.
	last map[lease.ID]string
}

// say prints who is elected.
func (p *printer) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.console.ErrOut, text)
}

// complain prints an error that belongs to no lease.
func (p *printer) complain(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.console.ErrOut, "error: %v\n", err)
}

// warn prints warnings.
func (p *printer) warn(about lease.Problems) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.console.Warn(about)
}

// report prints an event.
func (p *printer) report(e report.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case e.Action == report.Unchanged:
		return
	case e.Action == report.Done && !e.Summary.Changed:
		delete(p.last, e.Lease)
		return
	case e.Action == report.Failed && (errors.Is(e.Err, context.Canceled) || p.last[e.Lease] == e.Err.Error()):
		return // it has been stopped, or has failed likewise before
	case e.Action == report.Failed:
		p.last[e.Lease] = e.Err.Error()
		switch {
		case p.output == console.OutputEvents:
		case e.Lease == (lease.ID{}):
			fmt.Fprintf(p.console.ErrOut, "error: %v\n", e.Err)
			return
		default:
			p.console.Tell(e)
			fmt.Fprintf(p.console.ErrOut, "error: lease %s: %v\n", e.Lease.Group(), e.Err)
			return
		}
	case e.Action == report.Done:
		delete(p.last, e.Lease)
	}
	p.next(e)
}
