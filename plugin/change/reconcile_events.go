package change

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/reconcile/events"
)

// addEvents adds --events.
func (f *reconcileFlags) addEvents(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.events, "events", "",
		"A file or a named pipe with events of leases, a JSON object a line; - is standard input. Each is acknowledged by a line of JSON on "+
			"standard output, and messages go to standard error")
	cobra.CheckErr(cmd.MarkFlagFilename("events"))
}

// checkEvents validates --events.
func (f *reconcileFlags) checkEvents() error {
	switch {
	case f.events == "-" && slices.Contains(f.files.Files, "-"):
		return usage.Errorf("standard input is read either by -f or by --events")
	case f.events != "" && f.output == console.OutputName:
		return usage.Errorf("--output name and --events cannot be used together: standard output has the acknowledgements")
	}
	return nil
}

// shown returns what prints events: on standard output, or if that has acknowledgements on standard error.
func (f *reconcileFlags) shown(c *session.Session) *console.Events {
	if f.events == "" {
		return console.NewEvents(&c.Console, f.output, f.dryRun)
	}
	return console.NewEvents(c.ForData(), f.output, f.dryRun)
}

// bus returns what carries out the events of --events; nil without it.
func (f *reconcileFlags) bus(c *session.Session, shown *console.Events, p *printer, opts command.Options, in input.Options, size int64) (*events.Bus, error) {
	if f.events == "" {
		return nil, nil //nolint:nilnil // there are no events
	}
	return events.New(events.Options{
		Name: f.events, Stdin: c.In, Again: f.watch, Read: in, Size: size, Command: opts, AllowEmpty: f.allowEmpty, Warn: p.warn, Complain: p.complain,
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
			p.complain(fmt.Errorf("--events %s: %w; no more events are carried out", f.events, err))
		}
	}
}
