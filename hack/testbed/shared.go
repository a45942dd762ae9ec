package testbed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// SharedVariable names the folder of a control plane that test packages use one after another.
const SharedVariable = "AKASH_NET_PLANE"

// shared is what a test package has to know of a control plane that another process has started.
type shared struct {
	Host, Etcd string
	CA         []byte
	// Empty is what etcd had before the first package, and Groups are the API groups that were served.
	Empty  []Pair
	Groups []string
}

const sharedFile = "shared.json"

// Share starts a control plane, runs a command whose test packages use it, and ends it.
func Share(ctx context.Context, command *exec.Cmd) (err error) {
	plane, err := Start(ctx)
	defer func() { err = errors.Join(err, plane.Stop()) }()
	if err != nil {
		return err
	}
	s := shared{Host: plane.server.Host, Etcd: plane.Etcd, CA: plane.server.CAData}
	// An API server that is ready still writes what each cluster has.
	err = wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		before := s.Empty
		now, err := plane.stable(ctx)
		s.Empty = now
		return len(changes(before, now)) == 0 && slices.ContainsFunc(now, func(p Pair) bool {
			return bytes.HasSuffix(p.Key, []byte("/endpointslices/default/kubernetes"))
		}), err
	})
	if err == nil {
		s.Groups, err = plane.groups()
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(plane.Dir, sharedFile), text, 0o600); err != nil {
		return err
	}
	command.Env = append(os.Environ(), SharedVariable+"="+plane.Dir)
	return command.Run()
}

// Join uses the control plane that SharedVariable names: it waits until no other test package does, and puts back what was stored before
// the first one. Without the variable it starts a control plane.
func Join(ctx context.Context) (*ControlPlane, error) {
	folder := os.Getenv(SharedVariable)
	if folder == "" {
		return Start(ctx)
	}
	text, err := os.ReadFile(filepath.Join(folder, sharedFile)) //nolint:gosec // the folder that Share has made
	if err != nil {
		return nil, err
	}
	var s shared
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	plane, err := newPlane()
	if err != nil {
		return plane, err
	}
	if plane.leave, err = lockedfile.MutexAt(filepath.Join(folder, "lock")).Lock(); err != nil {
		return plane, err
	}
	if err := plane.serves(&rest.Config{Host: s.Host, TLSClientConfig: rest.TLSClientConfig{CAData: s.CA}}, s.Etcd); err != nil {
		return plane, err
	}
	if err := plane.empty(ctx, &s); err != nil {
		return plane, fmt.Errorf("emptying the control plane in %s: %w", folder, err)
	}
	return plane, nil
}

// empty puts back what was stored before the first test package, and waits until the API server works by it.
func (p *ControlPlane) empty(ctx context.Context, s *shared) error {
	policies := false
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		now, err := p.stable(ctx)
		if err != nil {
			return false, err
		}
		put := changes(now, s.Empty)
		gone := slices.DeleteFunc(changes(s.Empty, now), func(g Pair) bool {
			return slices.ContainsFunc(put, func(p Pair) bool { return bytes.Equal(p.Key, g.Key) })
		})
		var puts, deletes []map[string][]byte
		for _, pair := range put {
			puts = append(puts, map[string][]byte{"key": pair.Key, "value": pair.Value})
		}
		for _, pair := range gone {
			deletes = append(deletes, map[string][]byte{"key": pair.Key})
			policies = policies || strings.HasPrefix(string(pair.Key), "/registry/validatingadmissionpolicies/")
		}
		if len(puts)+len(deletes) > 0 { // what the API server's own controllers make of it is looked at again
			return false, errors.Join(p.Store(ctx, "requestDeleteRange", deletes), p.Store(ctx, "requestPut", puts))
		}
		groups, err := p.groups()
		return err == nil && slices.Equal(groups, s.Groups), err
	})
	if err == nil && policies {
		err = p.forgetPolicies(ctx)
	}
	return err
}

// changes returns the pairs of after that before has not, or has otherwise.
func changes(before, after []Pair) (out []Pair) {
	values := map[string][]byte{}
	for _, pair := range before {
		values[string(pair.Key)] = pair.Value
	}
	for _, pair := range after {
		if value, is := values[string(pair.Key)]; !is || !bytes.Equal(value, pair.Value) {
			out = append(out, pair)
		}
	}
	return out
}

// stable returns what is stored, but for what the API server renews.
func (p *ControlPlane) stable(ctx context.Context) ([]Pair, error) {
	all, err := p.Stored(ctx, "")
	return slices.DeleteFunc(all, func(pair Pair) bool {
		key := string(pair.Key)
		return strings.HasPrefix(key, "/registry/masterleases/") || strings.HasPrefix(key, "/registry/leases/kube-system/apiserver-")
	}), err
}

// groups returns the API groups that are served.
func (p *ControlPlane) groups() (names []string, err error) {
	client, err := discovery.NewDiscoveryClientForConfig(p.Config)
	if err != nil {
		return nil, err
	}
	all, err := client.ServerGroups()
	if err != nil {
		return nil, err
	}
	for _, group := range all.Groups {
		names = append(names, group.Name)
	}
	slices.Sort(names)
	return names, nil
}

// forgetPolicies waits until the API server works by the policies that are stored. It looks for changes of them once in a while, and for all
// of them then: once it refuses by a policy that came later, it does not by one that went before.
func (p *ControlPlane) forgetPolicies(ctx context.Context) error {
	client, err := dynamic.NewForConfig(p.Config)
	if err != nil {
		return err
	}
	const name = "testbed-refuses"
	rule := `{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE], resourceNames: [` + name + `]}`
	later := []struct{ resource, text string }{
		{"validatingadmissionpolicies", `{kind: ValidatingAdmissionPolicy, spec: {matchConstraints: {resourceRules: [` + rule + `]}, validations: [{expression: "false"}]}}`},
		{"validatingadmissionpolicybindings", `{kind: ValidatingAdmissionPolicyBinding, spec: {policyName: ` + name + `, validationActions: [Deny]}}`},
	}
	for _, l := range later {
		resource := client.Resource(schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: l.resource})
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(l.text), &o.Object); err != nil {
			return err
		}
		o.SetAPIVersion("admissionregistration.k8s.io/v1")
		o.SetName(name)
		if _, err := resource.Create(ctx, o, metav1.CreateOptions{}); err != nil {
			return err
		}
		defer func() { _ = resource.Delete(ctx, name, metav1.DeleteOptions{}) }() // else the next package deletes it
	}
	return p.refusal(ctx, name)
}

// refusal waits until a policy refuses a ConfigMap of its name.
func (p *ControlPlane) refusal(ctx context.Context, name string) error {
	client, err := dynamic.NewForConfig(p.Config)
	if err != nil {
		return err
	}
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}}}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		_, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(metav1.NamespaceDefault).
			Create(ctx, o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) { // it may be by a policy that went
			return strings.Contains(err.Error(), "'"+name+"'"), nil
		}
		return false, err
	})
}

// Pair is a key of etcd with its value.
type Pair struct{ Key, Value []byte }

// Below returns etcd's name for the keys that begin with a prefix of the API server's.
func Below(prefix string) map[string][]byte {
	end := []byte("/registry/" + prefix)
	end[len(end)-1]++
	return map[string][]byte{"key": []byte("/registry/" + prefix), "range_end": end}
}

// Stored returns what is stored below a prefix, in the order of the keys.
func (p *ControlPlane) Stored(ctx context.Context, prefix string) ([]Pair, error) {
	var answer struct{ Kvs []Pair }
	err := p.askEtcd(ctx, "range", Below(prefix), &answer)
	return answer.Kvs, err
}

// Store makes changes of one operation (requestPut, requestDeleteRange) in etcd, beside the API server, which hears of them as of its own.
// They take a tenth of the time that the API server needs.
func (p *ControlPlane) Store(ctx context.Context, operation string, all []map[string][]byte) error {
	for some := range slices.Chunk(all, 100) {
		var changes []any
		for _, fields := range some {
			changes = append(changes, map[string]any{operation: fields})
		}
		if err := p.askEtcd(ctx, "txn", map[string]any{"success": changes}, &struct{}{}); err != nil {
			return err
		}
	}
	return nil
}

// askEtcd asks etcd by its gateway for JSON.
func (p *ControlPlane) askEtcd(ctx context.Context, what string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, p.Etcd+"/v3/kv/"+what, bytes.NewReader(text))
	if err != nil {
		return err
	}
	out, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	text, err = io.ReadAll(out.Body)
	if err := errors.Join(err, out.Body.Close()); err != nil {
		return err
	}
	if out.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd: %s", text)
	}
	return json.Unmarshal(text, answer)
}
