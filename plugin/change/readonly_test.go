package change

import (
	"context"
	"errors"
	"testing"
)

// A command that writes nothing ends with its context, also while it computes.
func TestReadOnlyEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	computes := make(chan struct{})
	defer close(computes)
	err := readOnly(ctx, func(context.Context) error {
		cancel()
		<-computes
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}
