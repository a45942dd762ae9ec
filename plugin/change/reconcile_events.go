package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/reconcile/events"
)

// addEvents adds --events.
func (f *reconcileFlags) addEvents(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.bus, "events", "",
		"A file or a named pipe with events of leases, a JSON object a line; - is standard input. Each is acknowledged by a line of JSON on "+
			"standard output, and messages go to standard error")
	cobra.CheckErr(cmd.MarkFlagFilename("events"))
}

// checkEvents validates --events.
func (f *reconcileFlags) checkEvents() error {
	switch {
	case f.bus == "-" && slices.Contains(f.files.Files, "-"):
		return usage.Errorf("standard input is read either by -f or by --events")
	case f.bus != "" && f.output == console.OutputName:
		return usage.Errorf("--output name and --events cannot be used together: standard output has the acknowledgements")
	}
	return nil
}

// shown returns what prints events: on standard output, or if that has acknowledgements on standard error.
func (f *reconcileFlags) shown() *console.Events {
	if f.bus == "" {
		return f.events()
	}
	return console.NewEvents(f.c.ForData(), f.output, f.dryRun)
}

// carrier returns what carries out the events of --events; nil without it.
func (f *reconcileFlags) carrier(shown *console.Events, p *printer, opts command.Options, in input.Options) (*events.Bus, error) {
	if f.bus == "" {
		return nil, nil //nolint:nilnil // there are no events
	}
	return events.New(events.Options{
		Name: f.bus, Stdin: f.c.In, Again: f.watch, Read: in, Size: int64(f.cfg.Limits.InputSize), Command: opts, AllowEmpty: f.allowEmpty, Warn: p.warn, Complain: p.complain,
		Acknowledge: func(a events.Ack) error {
			if f.output == console.OutputEvents { // standard output has other lines too
				p.mu.Lock()
				defer p.mu.Unlock()
			}
			return shown.Acknowledge(a)
		},
	})
}

// carry carries out events until their input ends. One that fails is an error, as their acknowledgements are of no use to an exit code.
func carry(ctx context.Context, bus *events.Bus, to *cluster.Cluster, r *reconcile.Reconciler) error {
	counts, err := bus.Run(ctx, to, r.Defined)
	if err == nil && ctx.Err() == nil && counts.Failed > 0 {
		err = fmt.Errorf("%s of %d failed; the acknowledgements say why", lease.Count(counts.Failed, "event"), counts.Events)
	}
	return err
}

// carrying returns what carries out events while a reconciler watches; nil without a bus. What ends them ends nothing else.
func (f *reconcileFlags) carrying(bus *events.Bus, p *printer) func(context.Context, *cluster.Cluster, func(lease.Group) *lease.Definition) {
	if bus == nil {
		return nil
	}
	return func(ctx context.Context, to *cluster.Cluster, defined func(lease.Group) *lease.Definition) {
		_, err := bus.Run(ctx, to, defined)
		if err == nil && ctx.Err() == nil {
			err = errors.New("the input has ended")
		}
		if err != nil {
			p.complain(fmt.Errorf("--events %s: %w; no more events are carried out", f.bus, err))
		}
	}
}

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

// say prints a line about the program itself, such as who is elected.
func (p *printer) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.console.ErrOut, text)
}

// complain prints an error that belongs to no lease.
func (p *printer) complain(err error) { p.say(fmt.Sprintf("error: %v", err)) }

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
