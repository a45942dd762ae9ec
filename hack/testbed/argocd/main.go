// Command argocd syncs an Application as Argo CD's application controller does, with its package gitops-engine: it marks the objects
// with the Application's tracking annotation, applies them by server-side apply in their sync waves, prunes what has the annotation and
// is no longer among them, and waits until each wave is healthy.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/cache"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/engine"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
)

// The names under which Argo CD tracks and writes objects.
const (
	tracking = "argocd.argoproj.io/tracking-id"
	manager  = "argocd-controller"
)

func main() {
	folder := flag.String("f", "", "the folder with the objects")
	name := flag.String("app", "leases", "the name of the Application")
	flag.Parse()
	if err := syncFolder(context.Background(), *folder, *name); err != nil {
		fmt.Fprintln(os.Stderr, "argocd:", err)
		os.Exit(1)
	}
}

func syncFolder(ctx context.Context, folder, name string) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.QPS = -1
	objects, err := read(folder)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return errors.New("auto-sync will wipe out all resources; syncPolicy.automated.allowEmpty permits that")
	}
	for _, o := range objects {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[tracking] = id(name, kube.GetResourceKey(o))
		o.SetAnnotations(annotations)
	}
	cluster := cache.NewClusterCache(config, cache.SetLogr(logr.Discard()),
		cache.SetPopulateResourceInfoHandler(func(o *unstructured.Unstructured, _ bool) (info any, cacheManifest bool) {
			mark := o.GetAnnotations()[tracking]
			return mark, mark != ""
		}))
	e := engine.NewEngine(config, cluster, engine.WithLogr(logr.Discard()))
	stop, err := e.Run()
	if err != nil {
		return err
	}
	defer stop()
	results, err := e.Sync(ctx, objects, func(r *cache.Resource) bool {
		return r.Info == id(name, r.ResourceKey())
	}, "HEAD", "default", sync.WithPrune(true), sync.WithServerSideApply(true), sync.WithServerSideApplyManager(manager), sync.WithLogr(logr.Discard()))
	for _, r := range results {
		fmt.Printf("%s: %s\n", r.ResourceKey, r.Message)
		if r.Status == common.ResultCodeSyncFailed {
			err = errors.Join(err, fmt.Errorf("%s: %s", r.ResourceKey, r.Message))
		}
	}
	return err
}

// id is the value of the tracking annotation.
func id(app string, k kube.ResourceKey) string {
	return fmt.Sprintf("%s:%s/%s:%s/%s", app, k.Group, k.Kind, k.Namespace, k.Name)
}

// read returns the objects in a folder of type Directory, with recurse.
func read(folder string) (all []*unstructured.Unstructured, err error) {
	return all, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		objects, err := kube.SplitYAML(text)
		all = append(all, objects...)
		return err
	})
}
