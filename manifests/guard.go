package manifests

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// strictPrefix begins the names of the files that only the strict guard includes.
const strictPrefix = "strict-"

// Guard returns ValidatingAdmissionPolicies (Kubernetes 1.30 and later), which make the API server enforce the ledger for all
// clients, also for those that force or do not use server-side apply: first all policies, then a binding of the same name
// for each. A refused request gets the status Forbidden and a message that names the holder.
//
// strict adds policies that refuse to delete a claim or a ProviderLeasedIP without its UID. Akash's provider sends such
// requests, so use strict only in clusters without it.
func Guard(cfg *config.ProviderConfig, strict bool) ([]*unstructured.Unstructured, error) {
	entries, err := fs.ReadDir(files, "guard")
	if err != nil {
		return nil, err
	}
	var policies, bindings []*unstructured.Unstructured
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), strictPrefix) && !strict {
			continue
		}
		objects, err := read(path.Join("guard", e.Name()))
		if err != nil {
			return nil, err
		}
		if len(objects) != 2 {
			return nil, fmt.Errorf("embedded guard/%s: %d documents where a policy and its binding are expected", e.Name(), len(objects))
		}
		if err := setNamespace(objects[0], cfg); err != nil {
			return nil, fmt.Errorf("embedded guard/%s: %w", e.Name(), err)
		}
		policies, bindings = append(policies, objects[0]), append(bindings, objects[1])
	}
	return append(policies, bindings...), nil
}

// setNamespace replaces the default namespace with the configured one in a policy for a single namespace.
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
