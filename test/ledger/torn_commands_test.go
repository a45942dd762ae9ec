package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/install"
	"github.com/akash-net/kubectl-akash-net/apply/migrate"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/repair"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// tornCommand is a command whose reads are torn, or that runs meanwhile.
type tornCommand struct {
	name string
	// applied is true for one that begins with a lease that is applied, everybody for one that is of no
	// tenant.
	applied, everybody bool
	// migrates is true for one that goes to another kind of route.
	migrates bool
	// run does it for a tenant; more lets it ask for something that nobody else does.
	run func(ctx context.Context, w *world, c *client, tenant string, more bool) error
}

var tornCommands = []tornCommand{
	{name: "apply", run: func(ctx context.Context, w *world, c *client, tenant string, more bool) error {
		return c.apply(ctx, definition(w.lease(tenant, 1), "public", w.hosts(more)...))
	}},
	{name: "release", applied: true, run: func(ctx context.Context, w *world, c *client, tenant string, _ bool) error {
		return c.release(ctx, w.lease(tenant, 1))
	}},
	{name: "release --all", applied: true, everybody: true, run: func(ctx context.Context, w *world, c *client, _ string, _ bool) error {
		return c.releaseAll(ctx)
	}},
	{name: "reserve", run: func(ctx context.Context, w *world, c *client, tenant string, more bool) error {
		return c.reserve(ctx, w.lease(tenant, 1), "public", w.hosts(more)...)
	}},
	{name: "transfer", applied: true, run: func(ctx context.Context, w *world, c *client, tenant string, _ bool) error {
		return c.applier().Transfer(ctx, w.lease(tenant, 2), []string{w.host()}, nil)
	}},
	{name: "transfer -f", applied: true, run: func(ctx context.Context, w *world, c *client, tenant string, _ bool) error {
		to := w.lease(tenant, 2)
		return c.applier().Transfer(ctx, to, []string{w.host(), "public"}, definition(to, "public", w.host()))
	}},
	{name: "migrate", applied: true, migrates: true, run: func(ctx context.Context, w *world, c *client, tenant string, _ bool) error {
		of := func(id lease.ID) bool { return id.Owner == owner(w.name+tenant) }
		m, err := migrate.Plan(ctx, c.applier().Command, of, migrate.Options{})
		if err != nil {
			return err
		}
		return m.Run(ctx)
	}},
	{name: "repair", everybody: true, run: func(ctx context.Context, w *world, c *client, _ string, _ bool) error {
		return repair.Repair(ctx, c.applier(), repair.Options{CrashedAfter: time.Hour})
	}},
	{name: "uninstall", everybody: true, run: func(ctx context.Context, w *world, c *client, _ string, _ bool) error {
		i := install.Installer{Cluster: c.cluster, Config: c.opts.Config, Report: func(report.Event) {}}
		return i.Uninstall(ctx, nil)
	}},
}

func commandOf(name string) tornCommand {
	return tornCommands[slices.IndexFunc(tornCommands, func(c tornCommand) bool { return c.name == name })]
}

func (w *world) hosts(more bool) []string {
	if more {
		return []string{w.host(), "more." + w.name + ".example.com"}
	}
	return []string{w.host()}
}

// releaseAll is `release --all`.
func (c *client) releaseAll(ctx context.Context) error {
	held, err := observed.Releasable(ctx, c.cluster, c.opts.Config)
	if err != nil {
		return err
	}
	var groups []lease.Group
	for g := range held {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b lease.Group) int { return strings.Compare(a.String(), b.String()) })
	return c.applier().Release(ctx, groups)
}

// pair is a command whose reads are torn, beside another: that of the same lease (tenant "a"), or of
// another owner ("b"), who takes over what the first one releases.
type pair struct {
	torn, other tornCommand
	tenant      string
	// before is what there is: nothing, the lease "applied", or "orphaned": its claim was deleted by hand.
	before string
}

func (p pair) String() string {
	other := p.other.name
	switch {
	case p.other.everybody:
	case p.tenant == "b":
		other = "handover and " + other
	default:
		other += " of the same lease"
	}
	return p.torn.name + " beside " + other + ", " + p.before
}

// pairs are all pairs of commands, in all states that make sense for both.
func pairs() (out []pair) {
	for _, torn := range tornCommands {
		for _, other := range tornCommands {
			tenants := []string{"a", "b"}
			if other.everybody {
				tenants = tenants[:1]
			}
			for _, tenant := range tenants {
				for _, before := range states(torn, other, tenant) {
					out = append(out, pair{torn, other, tenant, before})
				}
			}
		}
	}
	return out
}

// states are those before a pair of commands.
func states(torn, other tornCommand, tenant string) []string {
	switch mends := torn.name == "repair" || torn.name == "release --all"; {
	case other.name == "repair": // has nothing to do otherwise
		return []string{"orphaned"}
	case mends:
		out := []string{"applied", "orphaned"}
		if !other.applied && tenant == "a" && !torn.applied {
			out = append(out, "nothing")
		}
		return out
	case torn.applied, other.applied, tenant == "b":
		return []string{"applied"}
	}
	return []string{"nothing", "applied"}
}

// tornStep is a command of a tenant.
type tornStep struct {
	tornCommand
	tenant string
	more   bool
}

// meanwhile are the steps of the other command.
func (p pair) meanwhile() (out []tornStep) {
	if p.tenant == "b" {
		out = append(out, tornStep{commandOf("release"), "a", false})
		if p.other.applied {
			out = append(out, tornStep{commandOf("apply"), "b", false})
		}
	} else if p.other.name == "uninstall" && p.before == "applied" {
		out = append(out, tornStep{commandOf("release"), "a", false})
	}
	return append(out, tornStep{p.other, p.tenant, p.tenant == "a"})
}

// do lets the other command do its work. The error is of what it could not do.
func (p pair) do(t *testing.T, w *world, through ...func(*rest.Config)) error {
	t.Helper()
	for i, s := range p.meanwhile() {
		cfg := w.cfg
		if p.other.migrates && s.name == "apply" && i < len(p.meanwhile())-1 { // what is to be migrated
			cfg = w.before
		}
		err := s.run(t.Context(), w, w.client(t, cfg, through...).hasty(), s.tenant, s.more) // one that stands still counts as crashed
		if _, ok := errors.AsType[*install.ClaimsExistError](err); err != nil && !ok {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// prepare brings about what is there before the commands.
func (p pair) prepare(t *testing.T, w *world) {
	t.Helper()
	w.reset(t)
	if p.before == "nothing" {
		return
	}
	if err := commandOf("apply").run(t.Context(), w, w.client(t, w.before), "a", false); err != nil {
		t.Fatal(err)
	}
	if p.before == "orphaned" {
		if err := harness.Objects.Resource(leases).Namespace(w.ledger).Delete(t.Context(), state.HostName(w.host()), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func (p pair) target() string {
	if p.torn.migrates || p.other.migrates {
		return config.TargetHTTPRoute
	}
	return config.TargetIngress
}
