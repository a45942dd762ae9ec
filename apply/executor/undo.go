package executor

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// undoTimeout limits how long a run takes to undo its writes.
const undoTimeout = 30 * time.Second

// errUndoTimeout is the cause of an undo that did not end in time.
var errUndoTimeout = fmt.Errorf("the API server did not answer within %s", undoTimeout)

// UndoError returns an error of an undo. It names the reason if the time was over.
func UndoError(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errUndoTimeout) {
		return errUndoTimeout
	}
	return err
}

// UndoContext returns a context for undoing writes: the run's context may have been cancelled already.
func UndoContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(context.WithoutCancel(ctx), undoTimeout, errUndoTimeout)
}
