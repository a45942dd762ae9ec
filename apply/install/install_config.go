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
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/report"
)

// EditConfig checks the configuration as Install does, shows the difference, and replaces that in the ConfigMap that was read, whoever
// wrote it. It writes nothing if the ConfigMap has changed since; then the error is a report.ErrChanged.
func (i *Installer) EditConfig(ctx context.Context, live *unstructured.Unstructured, document string) error {
	if err := i.checkAddresses(ctx, live); err != nil {
		return err
	}
	return i.writeConfig(ctx, live, document)
}

func (i *Installer) writeConfig(ctx context.Context, live *unstructured.Unstructured, document string) error {
	i.showReplaced(live, document)
	now, err := i.Cluster.ReplaceConfig(ctx, live, document)
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
