// Command flux applies a file of objects as flux's controllers do: with the package ssa of flux,
// in its stages, and with as many requests under way as asked for. client-go's rate limit is off.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the kubeconfig file")
	file := flag.String("f", "", "the file with the objects")
	concurrency := flag.Int("concurrency", 8, "requests under way at a time")
	flag.Parse()
	if err := run(context.Background(), *kubeconfig, *file, *concurrency); err != nil {
		fmt.Fprintln(os.Stderr, "flux:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, name string, concurrency int) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	c, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	objects, err := utils.ReadObjects(bufio.NewReader(file))
	if err != nil {
		return err
	}
	manager := ssa.NewResourceManager(c, nil, ssa.Owner{Field: "flux", Group: "akash-net.bench"})
	manager.SetConcurrency(concurrency)
	first, rest := stages(objects)
	for _, stage := range [][]*unstructured.Unstructured{first, rest} {
		set, err := manager.ApplyAll(ctx, stage, ssa.DefaultApplyOptions())
		if err != nil {
			return err
		}
		for _, entry := range set.Entries {
			fmt.Println(entry.String())
		}
	}
	return nil
}

// stages are the namespaces and all else, as flux applies them. Flux would also wait between the
// two until the namespaces are ready; that is left out, in its favour.
func stages(objects []*unstructured.Unstructured) (first, rest []*unstructured.Unstructured) {
	for _, o := range objects {
		if utils.IsClusterDefinition(o) {
			first = append(first, o)
		} else {
			rest = append(rest, o)
		}
	}
	return first, rest
}
