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
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
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
	var failed lease.Problems
	processor := framework.ResourceListProcessorFunc(func(list *framework.ResourceList) error {
		cfg, err := c.functionConfig(ctx, list, f.target)
		if errors.As(err, &failed) {
			list.Results = results(failed)
			return list.Results
		}
		if err != nil {
			return err
		}
		r := newRenderer(cfg)
		var made []*kyaml.RNode
		for i, item := range list.Items {
			if item.GetKind() != input.Kind || item.GetApiVersion() != input.APIVersion {
				continue
			}
			objects, problems := r.item(item, i)
			failed = append(failed, problems...)
			for _, o := range objects {
				node, err := toNode(o)
				if err != nil {
					return err
				}
				made = append(made, node)
			}
		}
		failed = append(failed, r.problems...)
		if len(failed) > 0 {
			list.Results = results(failed)
			return list.Results
		}
		pools, err := r.pools()
		if err != nil {
			return err
		}
		for _, o := range pools {
			node, err := toNode(o)
			if err != nil {
				return err
			}
			made = append(made, node)
		}
		list.Items = append(list.Items, made...)
		return nil
	})
	err := framework.Execute(processor, &kio.ByteReadWriter{Reader: c.In, Writer: c.Out, KeepReaderAnnotations: true})
	if len(failed) > 0 {
		return failed
	}
	return err
}

func results(problems lease.Problems) framework.Results {
	var out framework.Results
	for _, p := range problems {
		out = append(out, &framework.Result{Message: p.Error(), Severity: framework.Error})
	}
	return out
}

// functionConfig is the provider's configuration of the function: functionConfig where that is a
// ProviderConfig, else what --config names.
func (c *cli) functionConfig(ctx context.Context, list *framework.ResourceList, target string) (*config.ProviderConfig, error) {
	cfg, err := c.configuration(ctx, nil)
	if err != nil {
		return nil, err
	}
	if list.FunctionConfig != nil && list.FunctionConfig.GetKind() == "ProviderConfig" {
		text, err := list.FunctionConfig.String()
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
