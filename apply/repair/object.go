package repair

import (
	"context"

	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/state"
)

// writeRecords lets the engine write the DNS records of a host anew, whoever has changed them.
func (r *repair) writeRecords(ctx context.Context, f *state.Fix) error {
	wanted, err := records.Wanted(ctx, r.command, r.snapshot, f.Value, f.Part)
	if err != nil {
		return err
	}
	return r.write(ctx, engine.Want{Request: state.Request{Lease: f.Part.Lease}, Write: &engine.Write{Records: wanted.Objects}})
}
