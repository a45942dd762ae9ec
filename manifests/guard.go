package manifests

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
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

// OperatorsNamespace is the namespace in which Akash's charts run the provider and its operators.
const OperatorsNamespace = "akash-services"

// The Deployments of Akash's operators, by their current and former names in Akash's charts.
var (
	HostnameOperators = []string{"operator-hostname", "akash-hostname-operator"}
	IPOperators       = []string{"operator-ip", "akash-ip-operator"}
)

// StopOperator returns the command that stops one of Akash's operators.
func StopOperator(name string) string {
	return fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=0", OperatorsNamespace, name)
}

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
