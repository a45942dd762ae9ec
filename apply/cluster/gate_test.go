package cluster

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A write that a gate refuses is shut off; one that an interrupt ends while it asks is only interrupted, and can be undone.
func TestGate(t *testing.T) {
	lost := errors.New("lost")
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx  context.Context
		gate error
		shut bool
	}{
		"an open gate":                            {t.Context(), nil, false},
		"a shut gate":                             {t.Context(), lost, true},
		"a shut gate, and an interrupt":           {interrupted, lost, true},
		"an interrupt while it asks":              {interrupted, context.Canceled, false},
		"the end of something else while it asks": {t.Context(), context.Canceled, true},
	} {
		err := (&Cluster{}).ask(WithGate(tt.ctx, func(context.Context, bool) (time.Time, error) { return time.Time{}, tt.gate }))
		if !errors.Is(err, tt.gate) || IsShut(err) != tt.shut {
			t.Errorf("%s: %v, shut %t", name, err, IsShut(err))
		}
	}
}
