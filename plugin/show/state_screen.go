package show

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// redraw is how often a screen is drawn anew though nothing has changed, because ages have.
const redraw = 2 * time.Second

// showScreen shows the rows on the whole terminal, and again whenever they or the terminal change, until the context ends.
func (f *stateFlags) showScreen(
	ctx context.Context, cluster *cluster.Cluster, cfg *config.ProviderConfig, subjects []view.Subject, out io.Writer,
) error {
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
