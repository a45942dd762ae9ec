package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/render"
)

// function is render as a KRM function (KRM functions specification v1): lease definitions among
// the items of a ResourceList stay and are joined by the objects that they need. What is wrong
// stands in the results, and ends the function with exit code 3.
func (c *cli) function(ctx context.Context, f *renderFlags) error {
	list := &kio.ByteReadWriter{Reader: c.In, Writer: c.Out, KeepReaderAnnotations: true}
	items, err := list.Read()
	if err != nil {
		return lease.Problems{{At: lease.Place{File: "-"}, Message: err.Error()}}
	}
	made, err := c.functionItems(ctx, list, items, f.target)
	failed := lease.Problems(nil)
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	if list.Results, err = results(failed); err != nil {
		return err
	}
	if err := list.Write(append(items, made...)); err != nil {
		return err
	}
	if len(failed) > 0 {
		return failed
	}
	return nil
}

// functionItems are the objects that the lease definitions among the items need.
func (c *cli) functionItems(ctx context.Context, list *kio.ByteReadWriter, items []*kyaml.RNode, target string) ([]*kyaml.RNode, error) {
	cfg, err := c.functionConfig(ctx, list.FunctionConfig, target)
	if err != nil {
		return nil, err
	}
	r := newRenderer(cfg)
	var objects []render.Object
	var failed lease.Problems
	for i, item := range items {
		if item.GetKind() != input.Kind || item.GetApiVersion() != input.APIVersion {
			continue
		}
		rendered, problems := r.item(item, i)
		objects, failed = append(objects, rendered...), append(failed, problems...)
	}
	if failed = append(failed, r.problems...); len(failed) > 0 {
		return nil, failed
	}
	pools, err := r.pools()
	if err != nil {
		return nil, err
	}
	var made []*kyaml.RNode
	for _, o := range append(objects, pools...) {
		node, err := toNode(o)
		if err != nil {
			return nil, err
		}
		made = append(made, node)
	}
	return made, nil
}

// result is what a KRM function says of one problem.
type result struct {
	Message  string `json:"message"`
	Severity string `json:"severity"`
}

func results(problems lease.Problems) (*kyaml.RNode, error) {
	if len(problems) == 0 {
		return nil, nil //nolint:nilnil // no results is how a function says that all is well
	}
	var out []result
	for _, p := range problems {
		out = append(out, result{Message: p.Error(), Severity: "error"})
	}
	var text strings.Builder
	if err := render.WriteYAML(&text, out); err != nil {
		return nil, err
	}
	return kyaml.Parse(text.String())
}

// functionConfig is the provider's configuration of the function: functionConfig where that is a
// ProviderConfig, else what --config names.
func (c *cli) functionConfig(ctx context.Context, given *kyaml.RNode, target string) (*config.ProviderConfig, error) {
	cfg, err := c.configuration(ctx, nil)
	if err != nil {
		return nil, err
	}
	if given != nil && given.GetKind() == "ProviderConfig" {
		text, err := given.String()
		if err != nil {
			return nil, err
		}
		if cfg, err = c.readConfig(bytes.NewReader([]byte(text)), "functionConfig"); err != nil {
			return nil, err
		}
	}
	if target != "" {
		cfg.Target = target
	}
	return cfg, nil
}

func (r *renderer) item(item *kyaml.RNode, index int) ([]render.Object, lease.Problems) {
	text, err := item.String()
	name := fmt.Sprintf("items[%d] (%s)", index, item.GetName())
	if err != nil {
		return nil, lease.Problems{{At: lease.Place{File: name}, Message: err.Error()}}
	}
	var objects []render.Object
	problems, err := input.Read(bytes.NewReader([]byte(text)), name, input.Options{}, func(def *lease.Definition) error {
		var err error
		objects, err = r.lease(def)
		return err
	})
	if err != nil {
		problems.Add(lease.Place{File: name}, "%v", err)
	}
	return objects, problems.Errors()
}

func toNode(o render.Object) (*kyaml.RNode, error) {
	var text strings.Builder
	if err := render.WriteYAML(&text, o); err != nil { // read as JSON, large numbers would become floats
		return nil, err
	}
	return kyaml.Parse(text.String())
}

func isTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
