package show

import (
	"context"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/book"
	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/drawing"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state/graph"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// graphFlags are the arguments and flags of graph.
type graphFlags struct {
	rows   selection
	output string
	files  files.Names
}

// graphSubjects are what a graph is drawn from.
var graphSubjects = append(slices.Clone(view.Holdings), view.SubjectEndpoints)

// NewGraph returns the command that draws what leads from leases to their Services.
func NewGraph(c *session.Session) *cobra.Command {
	f := &graphFlags{rows: selection{named: heldRows}}
	cmd := &cobra.Command{
		Use:   "graph [LEASE|HOST|ADDRESS|ENDPOINT]...",
		Short: "Draw what leads from hosts and addresses to Services",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if f.rows.things, err = flags.ParseThings(args, thing.Lease, thing.Host, thing.Address, thing.Endpoint); err != nil {
				return err
			}
			if err := f.rows.check(cmd); err != nil {
				return err
			}
			return f.run(cmd.Context(), c)
		},
		ValidArgsFunction: flags.CompleteThings(c, thing.Lease, thing.Host, thing.Address),
	}
	flags.AddFiles(cmd, &f.files, "Files, or folders of files, with Kubernetes objects to read instead of the cluster; - is standard input")
	f.rows.add(cmd, "what is", "", "")
	flags.AddOutput(cmd, &f.output, "", "; a tree by default", "wide", "mermaid", "json", "yaml")
	return c.SetScope(cmd, session.Scope{
		Leases: session.AllLeases, Namespace: func([]string) string { return "" },
		Offline: func() bool { return len(f.files.Files) > 0 },
	})
}

func (f *graphFlags) run(ctx context.Context, c *session.Session) error {
	if err := f.rows.complete(ctx, c, len(f.files.Files) > 0); err != nil {
		return err
	}
	all, err := f.read(ctx, c)
	if err != nil {
		return err
	}
	pools := all.Pools
	all.Pools = nil // they belong to no lease, and are drawn where an address is of them
	f.rows.choose(all)
	if f.output == "" || f.output == "wide" {
		f.rows.noteEmpty(&c.Console, all, "Nothing is held.")
	}
	missing := f.rows.missing(all, "what leases hold")
	all.Pools = pools
	if err := f.print(c.Out, graph.Of(all)); err != nil {
		return err
	}
	return missing
}

// read reads the book of the cluster, or of the files.
func (f *graphFlags) read(ctx context.Context, c *session.Session) (*view.Book, error) {
	if len(f.files.Files) == 0 {
		cluster, cfg, err := c.Open(ctx, session.Requests)
		if err != nil {
			return nil, err
		}
		return book.Read(ctx, cluster, cfg, graphSubjects...)
	}
	cfg, err := c.Configuration(ctx, nil)
	if err != nil {
		return nil, err
	}
	contents, err := contentsOf(ctx, c, cfg, &f.files)
	if err != nil {
		return nil, err
	}
	return view.NewBook(cfg, contents, graphSubjects...), nil
}

// print prints a graph in the format of --output.
func (f *graphFlags) print(out io.Writer, g *graph.Graph) error {
	if done, err := flags.Document(out, f.output, g); done {
		return err
	}
	tree := drawing.Tree{Width: terminal.Width(out)(), Plain: os.Getenv("TERM") == "dumb", Whole: f.output == "wide"}
	draw := tree.Draw
	if f.output == "mermaid" {
		draw = drawing.Mermaid
	}
	_, err := io.WriteString(out, draw(g))
	return err
}

// heldRows returns the hosts and addresses of things, with the leases that hold them. A lease has all that it holds.
func heldRows(b *view.Book, things ...thing.Thing) view.Book {
	out := *b
	out.Hosts = matching(b.Hosts, things, func(r view.HostRow, t thing.Thing) bool { return r.Is(t) || r.IsOf(t) })
	out.IPs = matching(b.IPs, things, func(r view.IPRow, t thing.Thing) bool { return r.Is(t) || r.IsOf(t) })
	holders := map[string]bool{}
	for _, r := range out.Hosts {
		holders[r.Lease] = true
	}
	for _, r := range out.IPs {
		holders[r.Lease] = true
	}
	out.Leases = slices.DeleteFunc(slices.Clone(b.Leases), func(r view.LeaseRow) bool {
		return !holders[r.Lease] && !slices.ContainsFunc(things, func(t thing.Thing) bool { return r.IsOf(t) })
	})
	return out
}

// matching returns the rows that are about one of the things.
func matching[R any](rows []R, things []thing.Thing, isAbout func(R, thing.Thing) bool) []R {
	return slices.DeleteFunc(slices.Clone(rows), func(r R) bool {
		return !slices.ContainsFunc(things, func(t thing.Thing) bool { return isAbout(r, t) })
	})
}
