package manifests

import (
	"errors"
	"path"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// reconcilerFiles are the files of the reconciler, in the order of installing. Its Deployment is last.
var reconcilerFiles = []string{
	"serviceaccount.yaml", "rbac.yaml", "akash-operators/rolebinding.yaml", "networkpolicy.yaml", "service.yaml", "poddisruptionbudget.yaml", "deployment.yaml",
}

// Reconciler returns what runs the reconciler in the ledger's namespace: who it is and what it may do, what may reach it, and its
// Deployment, which comes last. The container gets the image. One object belongs in the namespace of Akash's operators.
func Reconciler(cfg *config.ProviderConfig, image string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, name := range reconcilerFiles {
		objects, err := read(path.Join("reconciler", name))
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	for _, o := range all {
		if o.GetNamespace() != "" && o.GetNamespace() != OperatorsNamespace {
			o.SetNamespace(cfg.LedgerNamespace)
		}
		if err := editEach(o, func(subject map[string]any) { subject["namespace"] = cfg.LedgerNamespace }, "subjects"); err != nil {
			return nil, err
		}
	}
	container := func(c map[string]any) { c["image"] = image }
	return all, editEach(all[len(all)-1], container, "spec", "template", "spec", "containers")
}

// editEach edits the items of a list of an object, if it has that list.
func editEach(o *unstructured.Unstructured, edit func(map[string]any), path ...string) error {
	items, found, err := unstructured.NestedSlice(o.Object, path...)
	if err != nil || !found {
		return err
	}
	for _, item := range items {
		if item, ok := item.(map[string]any); ok {
			edit(item)
		}
	}
	return unstructured.SetNestedSlice(o.Object, items, path...)
}

// ImageName is where the image of each release is published.
const ImageName = "akash-net/kubectl-akash-net"

// ErrNoImage reports that no image is published of a build.
var ErrNoImage = errors.New("no image is published of this build, which is no release")

var release = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)

// ReconcilerImage returns the published image of a version of this program, or ErrNoImage if that is no release.
func ReconcilerImage(version string) (string, error) {
	if !release.MatchString(version) {
		return "", ErrNoImage
	}
	return ImageName + ":" + version, nil
}
