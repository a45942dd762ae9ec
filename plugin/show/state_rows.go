package show

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/book"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// noteEmpty prints a message if a table or a map in the terminal would be empty.
func (f *stateFlags) noteEmpty(c *console.Console, book *view.Book) {
	if !f.print.IsTable() && !f.print.IsHeatMap() {
		return
	}
	f.rows.noteEmpty(c, book, f.emptyMessage())
}

// emptyMessage returns the message for a book without rows.
func (f *stateFlags) emptyMessage() string {
	if len(f.subjects) == 1 {
		return view.ListingOf(f.subjects[0]).About().Empty
	}
	return "Nothing is held."
}

// withEndpoints returns the subjects, the endpoints of hosts and addresses if the output shows them, and the addresses of pools if it is a
// map of them.
func (f *stateFlags) withEndpoints() []view.Subject {
	subjects := slices.Clone(f.subjects)
	if f.print.IsHeatMap() {
		return append(subjects, view.SubjectIPs)
	}
	if f.print.Output != "name" && (slices.Contains(subjects, view.SubjectHosts) || slices.Contains(subjects, view.SubjectIPs)) {
		subjects = append(subjects, view.SubjectEndpoints)
	}
	return subjects
}

// withWorkloads calls show with the subjects, and with the workloads of leases if the flag or the configuration requests
// them. If only the configuration does and the user may not read pods, it prints a note and shows the rest.
func (f *stateFlags) withWorkloads(c *session.Session, cfg *config.ProviderConfig, show func([]view.Subject) error) error {
	subjects := f.withEndpoints()
	requested := f.workloads || !f.given("workloads") && cfg.Workloads.Enabled
	if !requested || !slices.Contains(subjects, view.SubjectLeases) {
		return show(subjects)
	}
	err := show(append(slices.Clone(subjects), view.SubjectWorkloads))
	if role, refused := errors.AsType[*cluster.RoleError](err); refused && !f.given("workloads") {
		c.Note("workloads are not shown: the role %s is required (%s). Use --workloads=false to hide this note",
			role.Role, terminal.OneLine(role.Message, terminal.MaxCell))
		return show(subjects)
	}
	return err
}

// showProblems shows the problems. If there are any, it returns an error for exit code 1.
func (f *stateFlags) showProblems(ctx context.Context, c *session.Session, cluster *cluster.Cluster, cfg *config.ProviderConfig, show printing.Printer) error {
	problems, there, err := apply.Problems(ctx, cluster, cfg, f.crashedAfter, f.rows.namespace)
	if err != nil {
		return err
	}
	if !there {
		warnLost(ctx, c, cluster, cfg)
	}
	book := &view.Book{APIVersion: lease.Domain + "/v1alpha1", Kind: "Book", Problems: problems}
	if len(problems) == 0 {
		book.Problems = []state.Problem{}
		if f.print.IsTable() {
			c.NoProblems()
			f.rows.noteChosen(&c.Console)
		}
	}
	if err := show(book); err != nil {
		return err
	}
	if len(problems) > 0 {
		return &console.ReportedError{Message: lease.Count(len(problems), "problem")}
	}
	return nil
}

// warnLost says if the ledger is lost. What leases use is then shown as if nobody had claimed it.
func warnLost(ctx context.Context, c *session.Session, cluster *cluster.Cluster, cfg *config.ProviderConfig) {
	if lost := ledger.New(cluster, cfg.LedgerNamespace).Lost(ctx); lost != nil {
		c.Warn(lease.Problems{{Message: lost.Error(), Warning: true}})
	}
}

// noteUnclaimed says below a table what leases use without a claim. Objects that Akash's provider has written alone do not count: nobody
// claims what they use.
func noteUnclaimed(c *console.Console, book *view.Book) {
	hosts, ports := book.Unclaimed()
	var used []string
	if hosts > 0 {
		used = append(used, lease.Count(hosts, "host"))
	}
	if ports > 0 {
		used = append(used, lease.Count(ports, "port"))
	}
	if len(used) > 0 {
		c.Note("leases use %s that nobody has claimed. To see what to do: kubectl akash-net state --problems", strings.Join(used, " and "))
	}
}

// noteEdited says below a table whose objects kubectl users have set fields of. Whether those are drift takes more reads than a table.
func noteEdited(c *console.Console, book *view.Book) {
	leases := book.EditedLeases()
	if len(leases) == 0 {
		return
	}
	of, command := "lease "+leases[0].String(), "explain "+leases[0].Group().String()
	if len(leases) > 1 {
		of, command = lease.Count(len(leases), "lease"), "state --problems"
	}
	c.Note("kubectl users have set fields of objects of %s. To see what is not as the lease wants it: kubectl akash-net %s", of, command)
}

func (f *stateFlags) show(c *session.Session, book *view.Book, show printing.Printer) error {
	f.rows.choose(book)
	f.noteEmpty(&c.Console, book)
	if err := show(book); err != nil {
		return err
	}
	return f.rows.missing(book, joinSubjects(f.subjects))
}

// showChanges shows the rows, then each changed row, until the context ends.
func (f *stateFlags) showChanges(
	ctx context.Context, cluster *cluster.Cluster, cfg *config.ProviderConfig, subjects []view.Subject, show printing.Printer,
) error {
	return f.watchRows(ctx, cluster, cfg, subjects, func(book, earlier *view.Book) error {
		changed := book
		if earlier != nil {
			changed = book.Changes(earlier)
		}
		if changed.Empty() {
			return nil
		}
		return show(changed)
	})
}

// watchRows passes the chosen rows to show, with those before, and again whenever something changes, until the context ends or show
// fails. The first time a named thing without a row is an error.
func (f *stateFlags) watchRows(
	ctx context.Context, cluster *cluster.Cluster, cfg *config.ProviderConfig, subjects []view.Subject, show func(book, earlier *view.Book) error,
) error {
	var earlier *view.Book
	err := book.Watch(ctx, cluster, cfg, subjects, func(book *view.Book) error {
		f.rows.choose(book)
		if earlier == nil {
			if err := f.rows.missing(book, joinSubjects(f.subjects)); err != nil {
				return err
			}
		}
		before := earlier
		earlier = book
		return show(book, before)
	})
	return cmp.Or(ctx.Err(), err)
}

// redraw is how often a screen is drawn anew though nothing has changed, because ages have.
const redraw = 2 * time.Second

// showScreen shows the rows on the whole terminal, and again whenever they or the terminal change, until the context ends.
func (f *stateFlags) showScreen(ctx context.Context, cluster *cluster.Cluster, cfg *config.ProviderConfig, subjects []view.Subject, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	screen := terminal.NewScreen(out)
	defer screen.Close()
	resized, stop := terminal.Resized()
	defer stop()
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	books, ended := make(chan *view.Book), make(chan error, 1)
	go func() {
		ended <- f.watchRows(ctx, cluster, cfg, subjects, func(book, _ *view.Book) error {
			select {
			case books <- book:
			case <-ctx.Done():
			}
			return ctx.Err()
		})
	}()
	var last *view.Book
	for {
		select {
		case last = <-books:
		case <-resized:
		case <-tick.C:
		case err := <-ended:
			return err
		case <-ctx.Done(): // the terminal is restored at once, whatever the last request does
			return ctx.Err()
		}
		if last == nil {
			continue
		}
		if err := f.draw(screen, last); err != nil {
			return err
		}
	}
}

// draw shows a book on the screen.
func (f *stateFlags) draw(screen *terminal.Screen, b *view.Book) error {
	show, err := f.print.Printer(f.subjects, screen, time.Now)
	if err != nil {
		return err
	}
	if err := show(b); err != nil {
		return err
	}
	if b.Empty() {
		fmt.Fprintln(screen, f.emptyMessage())
	}
	return screen.Show(time.Now().Format(time.TimeOnly) + "  Ctrl-C ends")
}
