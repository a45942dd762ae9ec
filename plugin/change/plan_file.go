package change

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

const (
	flagPlan           = "plan"
	flagForceConflicts = "force-conflicts"
)

// maxPlan is the maximum size of a plan in bytes.
const maxPlan = 256 << 20

// planFlags are the flags of apply that --plan supports. The plan has the values of the others.
var planFlags = []string{flagPlan, "wait", "timeout", "concurrency", flagAssumeCrashed, flagForceConflicts, "output",
	flagRequireProof, flagResolver, flagDNSTimeout}

// checkPlanFlags refuses flags whose values are in the plan.
func checkPlanFlags(cmd *cobra.Command) (err error) {
	own := cmd.LocalNonPersistentFlags()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && own.Lookup(f.Name) != nil && !slices.Contains(planFlags, f.Name) {
			err = usage.Errorf("--%s cannot be used with --plan: the plan decides it", f.Name)
		}
	})
	return err
}

// refusals returns an error with the leases that apply would refuse, or nil if there are none.
func refusals(p plan.Plan) error {
	var texts []string
	for _, l := range p.Leases {
		if l.Refused != "" {
			texts = append(texts, "lease "+l.Lease+" is refused: "+l.Refused)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return &console.RefusedError{Err: errors.New(strings.Join(texts, "; "))}
}

// withDefinitions adds the definitions of the leases and the scheduler params to a plan.
func withDefinitions(p plan.Plan, defs []*lease.Definition, params []byte) (plan.Plan, error) {
	if params != nil {
		text, err := document.JSON(params)
		if err != nil {
			return p, err
		}
		p.Settings.Scheduler = text
	}
	for i, def := range defs {
		text, err := document.Encode(input.Encode(def))
		if err != nil {
			return p, err
		}
		p.Leases[i].Definition = text
	}
	return p, nil
}

// printPlan prints a plan as JSON, as YAML, as names, or as text.
func printPlan(c *console.Console, p plan.Plan, output string) (err error) {
	var data []byte
	switch output {
	case "json":
		data, err = json.MarshalIndent(p, "", "    ")
		data = append(data, '\n')
	case "yaml":
		data, err = document.Marshal(p)
	case console.OutputName:
		data = printing.PlanNames(p)
	default:
		data = printing.PlanText(p, c.Color.On(c.Out))
	}
	if err != nil {
		return err
	}
	if _, err := c.Out.Write(data); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// executePlan makes exactly the changes in a saved plan.
func (f *applyFlags) executePlan(ctx context.Context) error {
	var p plan.Plan
	named := files.Names{Files: []string{f.plan}}
	err := named.Each(ctx, f.c.In, maxPlan, func(r io.Reader, name string) error {
		text, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		return readPlan(text, name, &p)
	})
	if err != nil {
		return err
	}
	f.proof.requested = f.proof.requested || p.Settings.RequireDNSProof
	if err := f.proof.check(); err != nil {
		return err
	}
	if p.Settings.Kept { // nothing is claimed
		f.proof.requested = false
	}
	if f.cluster, f.cfg, err = f.c.Open(ctx, f.concurrency); err != nil {
		return err
	}
	if f.defs, err = definitionsOf(ctx, p, f.plan, f.cfg); err != nil {
		return err
	}
	if p.Settings.Workloads {
		f.runs = &command.Workloads{}
		if len(p.Settings.Scheduler) > 0 {
			if f.runs.Scheduler, err = flags.ReadParams(p.Settings.Scheduler, f.plan+": settings.scheduler"); err != nil {
				return err
			}
		}
	}
	if f.target = p.Settings.Target; f.target == f.cfg.Target {
		f.target = "" // it is the configuration's
	} else {
		f.cfg.Target = f.target
	}
	if f.prove, err = f.proof.prove(f.cfg); err != nil {
		return err
	}
	f.c.Leases = len(f.defs)
	f.operators, f.assumeServing, f.prune, f.adopt = p.Settings.Operators, p.Settings.AssumeServing, p.Settings.Prune, p.Settings.Adopt
	return apply.New(f.cluster, f.options(f.events())).CarryOut(ctx, p, f.defs)
}

// readPlan parses and validates a plan that diff has printed as JSON or YAML.
func readPlan(text []byte, name string, p *plan.Plan) error {
	err := document.Unmarshal(text, p)
	switch {
	case err != nil:
	case p.APIVersion != plan.APIVersion || p.Kind != plan.Kind:
		err = fmt.Errorf("it is %q of %q, not %q of %q", p.Kind, p.APIVersion, plan.Kind, plan.APIVersion)
	case len(p.Leases) == 0:
		err = errors.New("it has no leases")
	default:
		err = cmp.Or(flags.CheckTarget("target", cmp.Or(p.Settings.Target, config.TargetIngress)), flags.CheckOperators(p.Settings.Operators))
	}
	if err == nil {
		return nil
	}
	return lease.Problems{{
		At: lease.Place{File: name, Line: 1, Column: 1}, Message: fmt.Sprintf("not a plan as diff -o json prints it: %v", err),
	}}
}

// definitionsOf returns the definitions in a plan, in the order of its leases.
func definitionsOf(ctx context.Context, p plan.Plan, name string, cfg *config.ProviderConfig) ([]*lease.Definition, error) {
	defs := make([]*lease.Definition, 0, len(p.Leases))
	for i, l := range p.Leases {
		at := fmt.Sprintf("%s: leases[%d].definition", name, i)
		opts := input.Options{DocumentSize: int64(cfg.Limits.DocumentSize), Workloads: p.Settings.Workloads}
		found, problems, err := input.All(ctx, bytes.NewReader(l.Definition), at, opts)
		switch errs := problems.Errors(); {
		case err != nil:
			return nil, err
		case len(errs) > 0:
			return nil, errs
		case len(found) != 1 || found[0].Lease.String() != l.Lease:
			return nil, lease.Problems{{Message: fmt.Sprintf("%s: it must be the definition of lease %s", at, l.Lease)}}
		}
		defs = append(defs, found[0])
	}
	return defs, nil
}

// preview prints what an apply would do: the line that kubectl prints for each object and, below it, the changed values that
// diff shows. It returns the error that the apply would return.
func preview(ctx context.Context, c *console.Console, from *cluster.Cluster, opts command.Options, defs []*lease.Definition) error {
	var events []report.Event
	opts.Report = foresee(ctx, from, opts.Config, func(e report.Event) { events = append(events, e) }, kinds.Reporting...).report
	p, err := apply.Preview(ctx, from, opts, defs)
	failures := report.Failures{err}
	errors.As(err, &failures)
	err = report.Gather(append(slices.Clone(failures), refuseConflicts(&p, opts.Reclaim)...))
	if _, writeErr := c.Out.Write(previewText(p, events, c.Color.On(c.Out), c.Terminal)); writeErr != nil {
		return fmt.Errorf("standard output: %w", writeErr)
	}
	return err
}

// refuseConflicts marks the leases of a plan that an apply would refuse, because other managers own what they write, and returns
// the errors with which that would end. force is true if it takes back what kubectl users have set.
func refuseConflicts(p *plan.Plan, force bool) (errs []error) {
	for i := range p.Leases {
		l := &p.Leases[i]
		for _, c := range l.Changes {
			if others := c.Others(); len(others) > 0 && (!force || !c.ByHand) {
				e := &report.ConflictError{Object: c.Kind + "/" + c.Name, Managers: others, Differs: true, Fields: c.Conflicts(), ByHand: c.ByHand}
				errs = append(errs, e)
				l.Refused = fmt.Sprintf("fields of %s are managed by %s", e.Object, strings.Join(others, ", "))
			}
		}
	}
	return errs
}

// previewText returns the changes in a plan with the events of its dry run, and then the other events, for each lease; at the end
// the numbers of the changes. brief omits unchanged objects, as on a terminal.
func previewText(p plan.Plan, all []report.Event, coloured, brief bool) []byte {
	t := printing.PlanWriter{Coloured: coloured}
	var tally report.Tally
	of := map[string][]report.Event{}
	for _, e := range all {
		of[e.Lease.String()] = append(of[e.Lease.String()], e)
	}
	for _, l := range p.Leases {
		events := slices.DeleteFunc(of[l.Lease], func(e report.Event) bool {
			return e.Action == report.Failed || brief && e.Action == report.Unchanged || e.Action == report.Done && l.Refused != ""
		})
		if len(p.Leases) > 1 && (len(events) > 0 || l.Differs()) {
			t.Line(' ', "lease/"+l.Lease)
		}
		for _, c := range l.Changes {
			e := takeEvent(&events, c)
			t.Line(' ', console.DryRunLine(e))
			t.Values(c)
			tally.Add(e.Action, e.Kind)
		}
		for _, e := range events {
			t.Line(' ', console.DryRunLine(e))
			tally.Add(e.Action, e.Kind)
		}
		if l.Refused != "" {
			t.Line('!', "  refused: "+l.Refused)
			tally.Add(report.Failed, "lease")
		}
	}
	t.Tally(&tally)
	return t.Text()
}

// takeEvent removes the event about a change from events and returns it. It returns a new event if there is none.
func takeEvent(events *[]report.Event, c plan.Change) (e report.Event) {
	defer func() {
		if c.OnlyHash() && e.Message == "" {
			e.Message = printing.OnlyHash
		}
	}()
	actions := printing.Actions[c.Action]
	i := slices.IndexFunc(*events, func(e report.Event) bool {
		return e.Kind == c.Kind && e.Namespace == c.Namespace && e.Name == c.Name && slices.Contains(actions, e.Action)
	})
	if i < 0 {
		return report.Event{Action: actions[0], Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, Message: c.Why}
	}
	e = (*events)[i]
	*events = slices.Delete(*events, i, i+1)
	return e
}
