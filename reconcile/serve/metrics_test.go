package serve

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/state/view"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// gathered returns the metrics of a world with something of everything.
func gathered(t *testing.T) []*dto.MetricFamily {
	t.Helper()
	s := &Shown{}
	s.world.Store(&World{
		Book: func(context.Context) (*view.Book, error) {
			return &view.Book{
				Leases: []view.LeaseRow{{State: view.StateActive}, {State: view.StateActive}, {State: view.StatePending}},
				Hosts:  []view.HostRow{{State: view.StateActive}, {State: view.StateWithheld}},
				IPs:    []view.IPRow{{Address: netip.MustParseAddr("203.0.113.7"), State: view.StateActive}, {Address: netip.MustParseAddr("203.0.113.7"), State: view.StateActive}},
				Pools:  []view.PoolRow{{Name: "default", Addresses: 16, Free: 15}, {Name: "default", Addresses: 1}, {Name: "a\"b\n", Addresses: 2}},
			}, nil
		},
		Answers: func(context.Context) (*view.Book, error) {
			return &view.Book{Hosts: []view.HostRow{{State: view.StateActive, Unserved: view.NotAnswering}}}, nil
		},
		Failing: func(context.Context) ([]reconcile.Failing, error) { return []reconcile.Failing{{}, {}}, nil },
	})
	m := NewMetrics(s)
	m.Ran(reconcile.Apply, time.Second, nil)
	m.Ran(reconcile.Release, time.Second, errors.New("failed"))
	return gather(t, m)
}

func gather(t *testing.T, m *Metrics) []*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// Each metric is as promtool wants it, and says what the rows say.
func TestMetrics(t *testing.T) {
	families := gathered(t)
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	var got strings.Builder
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := ""
			for _, l := range m.GetLabel() {
				labels += fmt.Sprintf("%s=%q,", l.GetName(), l.GetValue())
			}
			value := m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			if value > 0 {
				fmt.Fprintf(&got, "%s{%s} %g\n", f.GetName(), strings.TrimSuffix(labels, ","), value)
			}
		}
	}
	golden.Check(t, "testdata/metrics.golden", got.String())
	for _, f := range gather(t, NewMetrics(&Shown{})) {
		if !strings.HasPrefix(f.GetName(), "akash_net_command") {
			t.Errorf("%s is told before anything is known", f.GetName())
		}
	}
}

// The table of the metrics in the documentation has each of them, with its labels, and no other.
func TestMetricsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/endpoints.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(akash_net_[a-z_]+)` \\| [a-z]+ \\| (.*?) \\|").FindAllStringSubmatch(string(text), -1) {
		documented[row[1]] = strings.ReplaceAll(row[2], "`", "")
	}
	for _, f := range gathered(t) {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		if got, ok := documented[f.GetName()]; !ok || got != strings.Join(labels, ", ") {
			t.Errorf("%s has the labels %s, and is documented (%t) with %s", f.GetName(), labels, ok, got)
		}
		delete(documented, f.GetName())
	}
	for name := range documented {
		t.Errorf("there is no metric %s", name)
	}
}
