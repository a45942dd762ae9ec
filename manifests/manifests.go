// Package manifests embeds the YAML files that install applies to a cluster. kubectl can apply them too; the functions of
// this package replace their default namespaces with the configured ones.
package manifests

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/schema"
)

//go:embed crds/*.yaml guard/*.yaml reconciler/*.yaml reconciler/akash-operators/rolebinding.yaml namespaces.yaml rbac.yaml workloads.yaml config.yaml
var files embed.FS

// All returns the objects that install always applies, in this order: definitions, namespaces, roles, and the ConfigMap.
// Config describes document.
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
	return append(slices.Concat(crds, namespaces, roles), settings), nil
}

// CRDs returns definitions of Akash's kinds for clusters that lack Akash's own. They accept everything that Akash's accept.
// Their label app.kubernetes.io/managed-by distinguishes them from Akash's.
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

// Namespaces returns the ledger's namespace and that of Akash's objects: one object if the configuration names the same
// namespace for both.
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
	maps.Copy(labels, akash.GetLabels())
	ledger.SetLabels(labels)
	return objects[:1], nil
}

// RBAC returns the roles of operators and of viewers: each a ClusterRole and a Role in the ledger's namespace, and for both a
// Role in the namespace of Akash's operators. It returns no bindings.
func RBAC(cfg *config.ProviderConfig) ([]*unstructured.Unstructured, error) {
	objects, err := read("rbac.yaml")
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if o.GetNamespace() != "" && o.GetNamespace() != OperatorsNamespace {
			o.SetNamespace(cfg.LedgerNamespace)
		}
	}
	return objects, nil
}

// Workloads returns the roles for applying the workloads of leases, without bindings. They are installed only on request.
func Workloads() ([]*unstructured.Unstructured, error) { return read("workloads.yaml") }

// read returns the objects of an embedded file in order. An error means that the embedded file is invalid.
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

var (
	//go:embed providerconfig.schema.json
	providerConfigSchema []byte
	//go:embed leasedefinition.schema.json
	leaseDefinitionSchema []byte
)

// Schemas returns the schemas of the documents that people write: ProviderConfig and LeaseDefinition, in this order.
func Schemas() ([]*schema.Schema, error) {
	var all []*schema.Schema
	for _, text := range [][]byte{providerConfigSchema, leaseDefinitionSchema} {
		s, err := schema.Parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
