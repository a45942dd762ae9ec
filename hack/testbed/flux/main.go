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
	file := flag.String("f", "", "the file with the objects")
	concurrency := flag.Int("concurrency", 8, "requests under way at a time")
	flag.Parse()
	if err := run(context.Background(), *file, *concurrency); err != nil {
		fmt.Fprintln(os.Stderr, "flux:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, name string, concurrency int) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
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
	// Flux would also wait between the stages until the namespaces are ready; that is left out, in its favour.
	var stages [2][]*unstructured.Unstructured
	for _, o := range objects {
		if utils.IsClusterDefinition(o) {
			stages[0] = append(stages[0], o)
		} else {
			stages[1] = append(stages[1], o)
		}
	}
	manager := ssa.NewResourceManager(c, nil, ssa.Owner{Field: "flux", Group: "akash-net.bench"})
	manager.SetConcurrency(concurrency)
	for _, stage := range stages {
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
