package manifests

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

//go:embed guard/*.yaml
var guardFiles embed.FS

// strictPrefix begins the names of the files that only the strict guard has.
const strictPrefix = "strict-"

// Guard are the ValidatingAdmissionPolicies (Kubernetes 1.30 and later) with which the API server
// holds everybody to the ledger, also those who force, who do not use server-side apply, or who
// have never heard of it: all policies, then a binding of the same name for each. What they refuse
// is answered as Forbidden and names the holder.
//
// strict adds those that refuse the delete of a claim or of a ProviderLeasedIP that names no uid;
// Akash's provider sends such deletes, so this is for clusters without it.
func Guard(cfg *config.ProviderConfig, strict bool) ([]*unstructured.Unstructured, error) {
	entries, err := fs.ReadDir(guardFiles, "guard")
	if err != nil {
		return nil, err
	}
	var policies, bindings []*unstructured.Unstructured
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), strictPrefix) && !strict {
			continue
		}
		objects, err := readGuard(path.Join("guard", e.Name()))
		if err != nil {
			return nil, fmt.Errorf("embedded guard/%s: %w", e.Name(), err)
		}
		if err := setNamespace(objects[0], cfg); err != nil {
			return nil, fmt.Errorf("embedded guard/%s: %w", e.Name(), err)
		}
		policies, bindings = append(policies, objects[0]), append(bindings, objects[1])
	}
	return append(policies, bindings...), nil
}

// readGuard returns a file's policy and its binding.
func readGuard(name string) ([]*unstructured.Unstructured, error) {
	data, err := guardFiles.ReadFile(name)
	if err != nil {
		return nil, err
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), len(data))
	var objects []*unstructured.Unstructured
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	if len(objects) != 2 {
		return nil, fmt.Errorf("%d documents where a policy and its binding are expected", len(objects))
	}
	return objects, nil
}

// setNamespace puts the configuration's namespace in the place of the default one, in a policy
// that watches one namespace.
func setNamespace(policy *unstructured.Unstructured, cfg *config.ProviderConfig) error {
	name := []string{"spec", "matchConstraints", "namespaceSelector", "matchLabels", "kubernetes.io/metadata.name"}
	namespace, found, err := unstructured.NestedString(policy.Object, name...)
	if err != nil || !found {
		return err
	}
	switch initial := config.Default(); namespace {
	case initial.LedgerNamespace:
		namespace = cfg.LedgerNamespace
	case initial.ManifestNamespace:
		namespace = cfg.ManifestNamespace
	default:
		return fmt.Errorf("policy %s watches namespace %q, which is none of the configuration's", policy.GetName(), namespace)
	}
	return unstructured.SetNestedField(policy.Object, namespace, name...)
}
