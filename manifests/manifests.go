// Package manifests holds what is installed into a cluster, as YAML files that are
// embedded in the binary. The files can also be given to kubectl as they are; the functions put
// the namespaces of a configuration in the place of the default ones.
package manifests

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

//go:embed crds/*.yaml namespaces.yaml rbac.yaml workloads.yaml config.yaml
var files embed.FS

// All is everything that is installed, in the order in which it can be applied: definitions and
// namespaces before what needs them. See Config for document.
func All(cfg *config.ProviderConfig, document string) ([]*unstructured.Unstructured, error) {
	crds, err := CRDs()
	if err != nil {
		return nil, err
	}
	namespaces, err := Namespaces(cfg)
	if err != nil {
		return nil, err
	}
	roles, err := RBAC(cfg)
	if err != nil {
		return nil, err
	}
	settings, err := Config(cfg, document)
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	all = append(all, crds...)
	all = append(all, namespaces...)
	all = append(all, roles...)
	return append(all, settings), nil
}

// CRDs are the definitions of Akash's kinds, for clusters that do not have Akash's own. They accept
// whatever Akash's accept, and carry a label app.kubernetes.io/managed-by that Akash's do not have.
func CRDs() ([]*unstructured.Unstructured, error) {
	entries, err := fs.ReadDir(files, "crds")
	if err != nil {
		return nil, err
	}
	var crds []*unstructured.Unstructured
	for _, e := range entries {
		objects, err := read(path.Join("crds", e.Name()))
		if err != nil {
			return nil, err
		}
		crds = append(crds, objects...)
	}
	return crds, nil
}

// Namespaces are the ledger's namespace and the one in which Akash keeps its objects. Where the
// configuration has both in one namespace, that is one object.
func Namespaces(cfg *config.ProviderConfig) ([]*unstructured.Unstructured, error) {
	objects, err := read("namespaces.yaml")
	if err != nil {
		return nil, err
	}
	ledger, akash := objects[0], objects[1]
	ledger.SetName(cfg.LedgerNamespace)
	akash.SetName(cfg.ManifestNamespace)
	if cfg.LedgerNamespace != cfg.ManifestNamespace {
		return objects, nil
	}
	labels := ledger.GetLabels()
	for k, v := range akash.GetLabels() {
		labels[k] = v
	}
	ledger.SetLabels(labels)
	return objects[:1], nil
}

// RBAC are the roles of those who operate and of those who only look: for each a ClusterRole, and
// a Role in the ledger's namespace. They are bound to nobody.
func RBAC(cfg *config.ProviderConfig) ([]*unstructured.Unstructured, error) {
	objects, err := read("rbac.yaml")
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if o.GetNamespace() != "" {
			o.SetNamespace(cfg.LedgerNamespace)
		}
	}
	return objects, nil
}

// Workloads are the roles of those who apply what leases run. They are installed on request, and bound to nobody.
func Workloads() ([]*unstructured.Unstructured, error) { return read("workloads.yaml") }

// read returns the objects of an embedded file in its order. An error means that the binary was
// built from a broken file.
func read(name string) ([]*unstructured.Unstructured, error) {
	data, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	var objects []*unstructured.Unstructured
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("embedded %s: %w", name, err)
		}
		object, err := parse(document)
		if err != nil {
			return nil, fmt.Errorf("embedded %s: %w", name, err)
		}
		objects = append(objects, object)
	}
}

func parse(document []byte) (*unstructured.Unstructured, error) {
	data, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	return object, object.UnmarshalJSON(data)
}
