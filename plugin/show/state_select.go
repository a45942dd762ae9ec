package show

import (
	"context"
	"errors"
	"strconv"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// selects reports whether flags select rows by the labels of their leases.
func (f *stateFlags) selects() bool { return f.selector != "" || f.owner != "" || f.dseq != 0 }

// selectLeases adds --owner and --dseq to the selector.
func (f *stateFlags) selectLeases(ctx context.Context, c *session.Session) error {
	if f.owner != "" {
		owner, err := f.owner, lease.CheckWallet(f.owner)
		if err != nil && len(f.files.Files) == 0 {
			owner, err = c.Owner(ctx, f.owner)
		}
		if _, missing := errors.AsType[*session.MissingError](err); missing {
			return err
		}
		if err != nil {
			return usage.Errorf("--owner: %w", err)
		}
		f.matches = and(f.matches, lease.LabelOwner, owner)
	}
	if f.dseq != 0 {
		f.matches = and(f.matches, lease.LabelDSeq, strconv.FormatUint(f.dseq, 10))
	}
	return nil
}

// and returns a selector that also requires the value of a label.
func and(s labels.Selector, label, value string) labels.Selector {
	more, _ := labels.SelectorFromSet(labels.Set{label: value}).Requirements()
	return s.Add(more...)
}
