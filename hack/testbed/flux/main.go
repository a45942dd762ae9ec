// Command flux applies objects as Flux's kustomize-controller does, with the package ssa of Flux: in its stages, with its force, and
// with as many requests under way as asked for. With an inventory it also prunes as that controller does. client-go's rate limit is off.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The names under which kustomize-controller writes.
const (
	field = "kustomize-controller"
	group = "kustomize.toolkit.fluxcd.io"
)

func main() {
	var a applier
	flag.StringVar(&a.path, "f", "", "the file with the objects, or a folder of such files")
	flag.IntVar(&a.concurrency, "concurrency", 8, "requests under way at a time")
	flag.StringVar(&a.inventory, "inventory", "", "the file with what was applied last, which the status of a Kustomization has; what is no longer among the objects is pruned")
	flag.Parse()
	if err := a.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "flux:", err)
		os.Exit(1)
	}
}

type applier struct {
	path, inventory string
	concurrency     int
}

func (a *applier) run(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.QPS = -1
	c, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	objects, err := a.objects()
	if err != nil {
		return err
	}
	manager := ssa.NewResourceManager(c, nil, ssa.Owner{Field: field, Group: group})
	manager.SetConcurrency(a.concurrency)
	if a.inventory != "" {
		manager.SetOwnerLabels(objects, "leases", "flux-system")
	}
	// Flux would also wait between the stages until the namespaces are ready; that is left out, in its favour.
	var stages [2][]*unstructured.Unstructured
	for _, o := range objects {
		if utils.IsClusterDefinition(o) {
			stages[0] = append(stages[0], o)
		} else {
			stages[1] = append(stages[1], o)
		}
	}
	for _, stage := range stages {
		if err := report(manager.ApplyAll(ctx, stage, ssa.DefaultApplyOptions())); err != nil {
			return err
		}
	}
	if a.inventory == "" {
		return nil
	}
	return a.prune(ctx, manager, objects)
}

// objects reads the objects: those of a folder as the Kustomization has them that Flux generates.
func (a *applier) objects() (all []*unstructured.Unstructured, err error) {
	return all, filepath.WalkDir(a.path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path != a.path && !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		objects, err := utils.ReadObjects(bytes.NewReader(text))
		all = append(all, objects...)
		return err
	})
}

// prune deletes what the inventory has and the objects lack, with kustomize-controller's exceptions, and writes the new inventory.
func (a *applier) prune(ctx context.Context, manager *ssa.ResourceManager, objects []*unstructured.Unstructured) error {
	var stale, applied []*unstructured.Unstructured
	text, err := os.ReadFile(a.inventory)
	if err == nil {
		err = json.Unmarshal(text, &stale)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, o := range objects {
		kept[utils.FmtUnstructured(o)] = true
		reference := &unstructured.Unstructured{}
		reference.SetGroupVersionKind(o.GroupVersionKind())
		reference.SetNamespace(o.GetNamespace())
		reference.SetName(o.GetName())
		applied = append(applied, reference)
	}
	stale = slices.DeleteFunc(stale, func(o *unstructured.Unstructured) bool { return kept[utils.FmtUnstructured(o)] })
	options := ssa.DefaultDeleteOptions()
	options.Inclusions = manager.GetOwnerLabels("leases", "flux-system")
	options.Exclusions = map[string]string{group + "/prune": "disabled", group + "/reconcile": "disabled"}
	if err := report(manager.DeleteAll(ctx, stale, options)); err != nil {
		return err
	}
	if text, err = json.Marshal(applied); err != nil {
		return err
	}
	return os.WriteFile(a.inventory, text, 0o600)
}

// report prints what was done.
func report(set *ssa.ChangeSet, err error) error {
	if err != nil {
		return err
	}
	for _, entry := range set.Entries {
		fmt.Println(entry.String())
	}
	return nil
}
