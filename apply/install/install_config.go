package install

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/report"
)

// LedgerLeftError reports that a configuration names another ledger while the former one records who holds what.
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

// checkConfig returns why a configuration must not replace that in the ConfigMap; nil is none.
func (i *Installer) checkConfig(ctx context.Context, live *unstructured.Unstructured) error {
	was := config.Default() // for one that cannot be read
	if text, place, err := cluster.ConfigText(live); err == nil {
		if cfg, _, _ := config.Read(strings.NewReader(text), place); cfg != nil {
			was = cfg
		}
	}
	if live != nil && was.LedgerNamespace != i.Config.LedgerNamespace {
		former := Installer{Cluster: i.Cluster, Config: was}
		claims, reservations, err := former.recorded(ctx)
		if err != nil {
			return err
		}
		if len(claims)+len(reservations) > 0 {
			return &LedgerLeftError{Former: was.LedgerNamespace, New: i.Config.LedgerNamespace, Claims: len(claims), Reservations: len(reservations)}
		}
	}
	return i.checkAddresses(ctx, live)
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
	was, now := strings.Split(before, "\n"), strings.Split(document, "\n")
	var lines []string
	for _, op := range difflib.NewMatcher(was, now).GetOpCodes() {
		if op.Tag == 'e' {
			continue
		}
		for _, line := range was[op.I1:op.I2] {
			lines = append(lines, "- "+line)
		}
		for _, line := range now[op.J1:op.J2] {
			lines = append(lines, "+ "+line)
		}
	}
	if len(lines) > 0 && i.Show != nil {
		i.Show(lines)
	}
}
