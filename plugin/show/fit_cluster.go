package show

import (
	"bytes"
	"context"
	"fmt"

	"github.com/akash-net/kubectl-akash-net/apply/capacity"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/cases"
)

// documents tells what of documents fits beside what the cluster has given out already. They are judged before the
// cluster is read.
func (r *fitRun) documents(ctx context.Context, documents []source) error {
	groups := make([][]inventory.Group, len(documents))
	for i, d := range documents {
		var err error
		if groups[i], err = r.groups(ctx, d); err != nil {
			return err
		}
	}
	to, cfg, err := r.Open(ctx, capacity.Requests)
	if err != nil {
		return err
	}
	room, err := reservation.ReadRoom(ctx, to, cfg)
	if err != nil {
		return err
	}
	for _, note := range room.Notes {
		fmt.Fprintf(r.ErrOut, "Warning: %s\n", terminal.OneLine(note, terminal.MaxCell))
	}
	left := room.Inventory(cfg)
	for i, d := range documents {
		question := cases.Case{Name: d.name}
		answer := cases.Answer{Name: d.name}
		for _, g := range groups[i] {
			question.Requests = append(question.Requests, g)
			answer.Results = append(answer.Results, cases.NewResult(left.Reserve(room.Asked(g))))
		}
		answer.After = cases.NewAfter(left.Room())
		if err := r.answer(question, answer, r.output != "json"); err != nil {
			return err
		}
	}
	return nil
}

// groups are what the leases of an input ask for. An SDL needs no lease here.
func (r *fitRun) groups(ctx context.Context, d source) ([]inventory.Group, error) {
	var groups []inventory.Group
	opts := input.Options{DocumentSize: config.Default().Limits.DocumentSize, Workloads: true, Unleased: true}
	found, err := input.Read(ctx, bytes.NewReader(d.text), d.name, opts, func(def *lease.Definition) error {
		groups = append(groups, inventory.GroupOf(def.ResourceGroup()))
		return nil
	})
	r.Warn(found)
	switch problems := found.Errors(); {
	case err != nil:
		return nil, err
	case len(problems) > 0:
		return nil, problems
	case len(groups) == 0:
		return nil, lease.Problems{{At: lease.Place{File: d.name}, Message: "the input has no groups"}}
	}
	return groups, nil
}
