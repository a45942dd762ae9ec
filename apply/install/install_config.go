package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/state"
)

// LedgerLeftError reports that a configuration names another ledger than the one that records who holds what: a cluster has one. Commands on
// the other would call what is served unclaimed, and repair would claim it.
type LedgerLeftError struct {
	// Former and New are the namespaces of the ledgers.
	Former, New          string
	Claims, Reservations int
}

func (e *LedgerLeftError) Error() string {
	return fmt.Sprintf("the configuration names the ledger of namespace %s, and that of namespace %s is not empty (claims: %d, reservations of orders: %d): "+
		"commands would not see them, and others could take what they hold.\nNothing was changed: keep ledgerNamespace: %[2]s, or release the leases first.",
		e.New, e.Former, e.Claims, e.Reservations)
}

// ExitCode says how a command ends with the error.
func (*LedgerLeftError) ExitCode() int { return report.ExitHeld }

// checkConfig returns why a configuration must not replace that in the ConfigMap; nil is none.
func (i *Installer) checkConfig(ctx context.Context, live *unstructured.Unstructured) error {
	if err := i.checkLedger(ctx, live); err != nil {
		return err
	}
	return i.checkAddresses(ctx, live)
}

// checkLedger returns a LedgerLeftError if a ledger in another namespace records anything, unless the ledger is installed: nobody's Leases
// elsewhere are in the way of an upgrade. A ledger is where a configuration is. Who may not look everywhere looks where the ConfigMap is.
func (i *Installer) checkLedger(ctx context.Context, live *unstructured.Unstructured) error {
	if live != nil && live.GetNamespace() == i.Config.LedgerNamespace {
		return nil
	}
	recorded := metav1.ListOptions{LabelSelector: state.LabelKind}
	others, err := cluster.ListMetas(ctx, i.Cluster, cluster.Leases, "", recorded, func(m *metav1.ObjectMeta) (string, bool) {
		return m.Namespace, m.Namespace != i.Config.LedgerNamespace
	})
	switch {
	case apierrors.IsForbidden(err) && live != nil:
		others = []string{live.GetNamespace()}
	case apierrors.IsForbidden(err):
		return nil
	case err != nil:
		return err
	}
	slices.Sort(others)
	for _, namespace := range slices.Compact(others) {
		if its, err := i.Cluster.ConfigMap(ctx, namespace); err != nil {
			return err
		} else if its == nil {
			continue
		}
		cfg := *i.Config
		cfg.LedgerNamespace = namespace
		former := Installer{Cluster: i.Cluster, Config: &cfg}
		if claims, reservations, err := former.recorded(ctx); err != nil {
			return err
		} else if len(claims)+len(reservations) > 0 {
			return &LedgerLeftError{Former: namespace, New: i.Config.LedgerNamespace, Claims: len(claims), Reservations: len(reservations)}
		}
	}
	return nil
}

// fitMetalLB sets the prefix of MetalLB's annotations in the default configuration to that which the installed MetalLB wants. Of a document
// it warns if that has another one.
func (i *Installer) fitMetalLB(ctx context.Context, document string) error {
	served, err := i.Cluster.Served(ctx, kinds.IPAddressPool.GroupVersion())
	if err != nil {
		return err
	}
	want, has := config.MetalLBPrefix(served), i.Config.IP.AnnotationPrefix
	switch {
	case len(served) == 0 || want == has:
	case document == "":
		cfg := *i.Config
		cfg.IP.AnnotationPrefix = want
		i.Config = &cfg
	case want != config.Default().IP.AnnotationPrefix: // v0.14.9 reads both, and all versions the default
		i.Warn(lease.Problems{{Warning: true, Message: fmt.Sprintf("ip.annotationPrefix is %s, which the installed MetalLB deprecates: set it to %s", has, want)}})
	}
	return nil
}

// EditConfig checks the configuration as Install does, shows the difference, and replaces that in the ConfigMap that was read, whoever
// wrote it. It writes nothing if the ConfigMap has changed since; then the error is a report.ErrChanged.
func (i *Installer) EditConfig(ctx context.Context, live *unstructured.Unstructured, document string) error {
	if err := i.checkConfig(ctx, live); err != nil {
		return err
	}
	return i.writeConfig(ctx, live, document)
}

func (i *Installer) writeConfig(ctx context.Context, live *unstructured.Unstructured, document string) error {
	i.showReplaced(live, document)
	now, err := i.Cluster.ReplaceConfig(ctx, live, document)
	if err != nil && cluster.IsUnclear(err) { // the answer was lost; what is there shows whether it was written
		if there, unread := i.Cluster.ConfigMap(ctx, live.GetNamespace()); unread == nil && there != nil {
			if text, _, _ := cluster.ConfigText(there); text == document {
				now, err = there, nil
			}
		}
	}
	switch {
	case cluster.IsOvertaken(err):
		return fmt.Errorf("configmap %s/%s: %w", live.GetNamespace(), live.GetName(), report.ErrChanged)
	case err != nil:
		return i.Cluster.Explain(err, "patch", cluster.ConfigMaps)
	}
	i.report(changed(live, now), now, "")
	return nil
}

// replaceConfig replaces the configuration in a ConfigMap that was read and compared. What others write meanwhile is compared and
// replaced too.
func (i *Installer) replaceConfig(ctx context.Context, live, o *unstructured.Unstructured, document string) error {
	err := i.writeConfig(ctx, live, document)
	for range retry.DefaultRetry.Steps {
		if !errors.Is(err, report.ErrChanged) {
			return err
		}
		live, err = i.Cluster.ConfigMap(ctx, o.GetNamespace())
		switch {
		case err != nil:
			return err
		case live == nil:
			return i.installObject(ctx, o, document)
		}
		err = i.EditConfig(ctx, live, document)
	}
	return err
}

// Exclude adds addresses to the exclusions of the cluster's configuration. If the configuration is a file, or the user
// may not write it, the note says what to add.
func Exclude(ctx context.Context, c *cluster.Cluster, file string, ranges []config.Range) (note string, err error) {
	var lines []string
	for _, x := range ranges {
		lines = append(lines, `"!`+x.MetalLB()+`"`)
	}
	add := "add " + strings.Join(lines, ", ") + " to spec.ip.ranges of "
	if file != "" {
		return add + file, nil
	}
	live, err := c.ConfigMap(ctx, config.Default().LedgerNamespace)
	if err != nil {
		return "", err
	}
	text, place, unread := cluster.ConfigText(live)
	var document []byte
	if unread == nil {
		document, unread = config.Exclude([]byte(text), ranges)
	}
	if unread == nil && string(document) != text {
		_, err = c.ReplaceConfig(ctx, live, string(document))
	}
	switch {
	case cluster.IsOvertaken(err):
		return "", fmt.Errorf("%s: %w", place, report.ErrChanged)
	case unread != nil:
		return add + place + ", by hand: " + unread.Error(), nil //nolint:nilerr // the note contains it
	case apierrors.IsForbidden(err):
		return add + place + ", which is not yours to write", nil
	}
	return "", err
}

// leaveConfig returns why a configuration that exists is not changed: nobody has given another one.
func leaveConfig(live *unstructured.Unstructured) string {
	text, place, err := cluster.ConfigText(live)
	var problems lease.Problems
	if err == nil {
		_, problems, err = config.Read(strings.NewReader(text), place)
	}
	if err != nil || problems.Failed() {
		return "it is there already, and has errors: kubectl akash-net config validate shows them, install --config FILE replaces it"
	}
	return "it is there already; install --config FILE replaces it"
}

// showReplaced shows the lines of the configuration that a new one replaces.
func (i *Installer) showReplaced(live *unstructured.Unstructured, document string) {
	before, _, _ := cluster.ConfigText(live)
	var lines []string
	for _, run := range plan.Lines(strings.Split(before, "\n"), strings.Split(document, "\n")) {
		if run.Same {
			continue
		}
		for _, line := range run.Before {
			lines = append(lines, "- "+line)
		}
		for _, line := range run.After {
			lines = append(lines, "+ "+line)
		}
	}
	if len(lines) > 0 && i.Show != nil {
		i.Show(lines)
	}
}

// StrandedError reports that a configuration no longer has addresses that are in use.
type StrandedError struct {
	// Claims are the claims on the addresses, sorted.
	Claims []*state.Claim
	// Pool is true if the configuration changes ip.mode to pool.
	Pool bool
}

func (e *StrandedError) Error() string {
	why, next := "the configuration no longer has addresses that are in use", "keep the addresses in ip.ranges, or release the leases first"
	if e.Pool {
		why = "the configuration changes ip.mode to pool, and addresses are claimed in the former mode"
		next = "release the leases first, or keep the mode"
	}
	lines := []string{why + ":"}
	for _, c := range e.Claims {
		var leases []string
		for _, g := range c.Groups() {
			leases = append(leases, c.PartsOf(g)[0].Lease.String())
		}
		lines = append(lines, fmt.Sprintf("  %s, used by lease %s", c.Thing, strings.Join(leases, ", ")))
	}
	return strings.Join(append(lines, "Nothing was changed: "+next+"."), "\n")
}

// ExitCode says how a command ends with the error.
func (*StrandedError) ExitCode() int { return report.ExitHeld }

// checkAddresses returns a StrandedError if the new configuration would strand addresses in use, and an UnservedError if it
// leaves too few for what orders have reserved. It compares with the configuration in the ConfigMap; nil is none.
// It warns of addresses of nodes.
func (i *Installer) checkAddresses(ctx context.Context, live *unstructured.Unstructured) error {
	nodes, err := reading.NodeUses(ctx, i.Cluster)
	if err != nil {
		return err
	}
	var warnings lease.Problems
	for _, u := range state.InRanges(i.Config, nodes) {
		warnings = append(warnings, lease.Problem{Warning: true, Message: fmt.Sprintf(
			"ip.ranges has %s, an address of %s: no lease gets it, and %s; %s", u.Address, u, state.NodeAddressMeans, state.ExcludeAddress(u.Address))})
	}
	if i.Warn != nil {
		i.Warn(warnings)
	}
	text, place, broken := cluster.ConfigText(live)
	if text == "" && broken == nil {
		return nil
	}
	var was *config.ProviderConfig // nil for one that cannot be read: every address in use counts
	if broken == nil {
		was, _, _ = config.Read(strings.NewReader(text), place)
	}
	claims, err := i.ledger().List(ctx, state.Address)
	if err != nil {
		return err
	}
	objects, err := i.Cluster.Objects(ctx, kinds.IPAddressPool.Resource(), "", metav1.ListOptions{})
	if err != nil && !cluster.IsMissingKind(err) {
		return err
	}
	var pools []state.PoolObject
	for _, o := range objects {
		pools = append(pools, state.PoolObjectOf(o))
	}
	if stranded := state.Stranded(was, i.Config, claims, pools); len(stranded) > 0 {
		return &StrandedError{Claims: stranded, Pool: i.Config.IP.Mode == config.ModePool}
	}
	return reservation.CheckAddresses(ctx, i.Cluster, was, i.Config)
}

// Guard selects the admission policies to install.
type Guard string

// The guards.
const (
	// GuardNone leaves policies as they are.
	GuardNone Guard = ""
	// GuardOn makes the API server prevent everybody from changing the holder of a claim.
	GuardOn Guard = "on"
	// GuardStrict also prevents deletes without a UID precondition, for clusters without Akash's provider.
	GuardStrict Guard = "strict"
)

// policies returns the guard's objects in the order in which to delete them: bindings first. It leaves out those with a
// name in keep.
func (i *Installer) policies(keep sets.Set[string]) ([]*unstructured.Unstructured, error) {
	all, err := manifests.Guard(i.Config, true)
	slices.Reverse(all)
	return slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool { return keep.Has(o.GetName()) }), err
}

// dropStrict deletes the policies that only a strict guard has.
func (i *Installer) dropStrict(ctx context.Context) error {
	plain, err := manifests.Guard(i.Config, false)
	if err != nil {
		return err
	}
	keep := sets.New[string]()
	for _, o := range plain {
		keep.Insert(o.GetName())
	}
	strict, err := i.policies(keep)
	if err != nil {
		return err
	}
	for _, o := range strict {
		if err := i.uninstallObject(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// awaitGuard waits until the API server enforces the guard, which takes about a second. It sends a dry run that the
// guard must refuse.
func (i *Installer) awaitGuard(ctx context.Context) error {
	if !i.Cluster.Waits() {
		return nil
	}
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": map[string]any{"name": "guard.invalid", "namespace": i.Config.LedgerNamespace},
	}}
	client := i.Cluster.Dynamic.Resource(cluster.Leases).Namespace(i.Config.LedgerNamespace)
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		_, err := client.Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: lease.FieldManager})
		return cluster.IsPolicy(err), nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return &report.TimeoutError{After: 30 * time.Second, Waiting: []string{"the API server to enforce the guard"}}
	}
	return err
}
