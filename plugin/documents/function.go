package documents

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/emit"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// function is render as a KRM function (KRM functions specification v1): lease definitions among
// the items of a ResourceList stay and are joined by the objects that they need. What is wrong, or
// doubtful, stands in the results; what is wrong ends the function with exit code 3.
func function(ctx context.Context, c *session.Session, f *renderFlags) error {
	if f.ledger == "cluster" {
		return usage.Errorf("a KRM function reads no cluster: put the claims among the items, or name a folder with --ledger")
	}
	cfg, err := c.Configuration(ctx, nil)
	if err != nil {
		return err
	}
	list := &kio.ByteReadWriter{Writer: c.Out, KeepReaderAnnotations: true}
	items, err := parallel.Abandonable(ctx, func() ([]*kyaml.RNode, error) { return readResourceList(c.In, list, cfg.Limits) })
	if err != nil {
		return err
	}
	call := &functionCall{origins: map[string]origin{}}
	made, err := parallel.Abandonable(ctx, func() ([]*kyaml.RNode, error) { return call.items(ctx, cfg, list, items, f) })
	if problems, ok := errors.AsType[lease.Problems](err); ok {
		call.problems = append(call.problems, problems...)
	} else if err != nil {
		return err
	}
	if list.Results, err = call.results(); err != nil {
		return err
	}
	if err := list.Write(append(items, made...)); err != nil {
		return err
	}
	c.Warn(call.problems)
	if failed := call.problems.Errors(); len(failed) > 0 {
		return failed
	}
	return nil
}

// functionCall is one call of the function.
type functionCall struct {
	// problems are errors and warnings, origins the objects in which they are found, by the name that
	// stands for their file.
	problems lease.Problems
	origins  map[string]origin
}

// items are the objects that the lease definitions among the items need; none where anything is wrong.
func (f *functionCall) items(ctx context.Context, cfg *config.ProviderConfig, list *kio.ByteReadWriter, items []*kyaml.RNode, flags *renderFlags) ([]*kyaml.RNode, error) {
	cfg, err := f.config(cfg, list.FunctionConfig, flags.target)
	if err != nil {
		return nil, err
	}
	r := newRenderer(cfg)
	if r.workloads, err = flags.workloads.Options(ctx, cfg); err != nil {
		return nil, err
	}
	if r.picker, err = functionLedger(ctx, items, flags.ledger, cfg.Limits); err != nil {
		return nil, err
	}
	objects, err := f.render(r, f.definitions(ctx, items, cfg.Limits, r.workloads != nil))
	if err != nil || f.problems.Failed() {
		return nil, err
	}
	var made []*kyaml.RNode
	for _, o := range objects {
		node, err := toNode(o)
		if err != nil {
			return nil, err
		}
		made = append(made, node)
	}
	return made, nil
}

// definitions are those among the items.
func (f *functionCall) definitions(ctx context.Context, items []*kyaml.RNode, limits config.Limits, workloads bool) []*lease.Definition {
	var defs []*lease.Definition
	for i, item := range items {
		if item.GetKind() != input.Kind || item.GetApiVersion() != input.APIVersion {
			continue
		}
		name := f.origin(fmt.Sprintf("items[%d] (%s)", i, item.GetName()), item)
		text, err := item.String()
		if err != nil {
			f.problems.Add(lease.Place{File: name}, "%v", err)
			continue
		}
		problems, err := input.Read(ctx, strings.NewReader(text), name, input.Options{DocumentSize: limits.DocumentSize, Workloads: workloads}, func(def *lease.Definition) error {
			defs = append(defs, def)
			return nil
		})
		f.problems = append(f.problems, problems...)
		if err != nil {
			f.problems.Add(lease.Place{File: name}, "%v", err)
		}
	}
	return defs
}

// render renders the definitions. What one asks for by name is not proposed to another, before or after.
func (f *functionCall) render(r *renderer, defs []*lease.Definition) ([]render.Object, error) {
	if r.picker != nil {
		for _, def := range defs {
			request, _ := state.NewRequest(def, r.cfg) // its problems are found when it is rendered
			r.picker.Name(request)
		}
	}
	var objects []render.Object
	for _, def := range defs {
		rendered, err := r.lease(def)
		if exhausted, ok := errors.AsType[*report.ExhaustedError](err); ok {
			f.problems.Add(exhausted.At, "%v", err)
		} else if err != nil {
			return nil, err
		}
		objects = append(objects, rendered...)
		f.problems = append(append(f.problems, r.problems...), r.warnings(def)...)
		r.problems = nil
	}
	return objects, nil
}

// functionLedger is the ledger from which addresses are proposed: a folder's or, where claims are among
// the items, theirs. Without any nothing is proposed: all that is leased would be taken for free.
func functionLedger(ctx context.Context, items []*kyaml.RNode, folder string, limits config.Limits) (*state.Picker, error) {
	if folder != "" {
		known, err := readLedger(ctx, folder, limits)
		if err != nil {
			return nil, err
		}
		return state.NewPicker(known.Addresses), nil
	}
	found, err := ledgerIn(items)
	if err != nil || len(found.claims) == 0 {
		return nil, err
	}
	return state.NewPicker(state.NewAddresses(found.claims, found.uses)), nil
}

// config is the provider's configuration of the function: functionConfig where that is a
// ProviderConfig, else what --config names.
func (f *functionCall) config(cfg *config.ProviderConfig, given *kyaml.RNode, target string) (*config.ProviderConfig, error) {
	if given != nil && given.GetKind() == "ProviderConfig" {
		text, err := given.String()
		if err != nil {
			return nil, err
		}
		read, problems, err := config.Read(strings.NewReader(text), f.origin("functionConfig", given))
		if err == nil && problems.Failed() {
			err = problems
		}
		if err != nil {
			return nil, err
		}
		f.problems, cfg = append(f.problems, problems...), read
	}
	if target != "" {
		cfg.Target = target
	}
	return cfg, nil
}

func toNode(o any) (*kyaml.RNode, error) {
	var text strings.Builder
	if err := emit.WriteYAML(&text, o); err != nil { // read as JSON, large numbers would become floats
		return nil, err
	}
	return kyaml.Parse(text.String())
}
