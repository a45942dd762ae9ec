package serve

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Metrics are the metrics of what is shown, and of the commands that have been run.
type Metrics struct {
	shown    *Shown
	commands *prometheus.CounterVec
	took     *prometheus.HistogramVec
}

// Transfer is the action of a command that was asked for over HTTP, beside those of reconcile.
const Transfer reconcile.Action = "transfer"

// The results of a command.
const (
	succeeded = "succeeded"
	failed    = "failed"
)

var (
	failingLeases = prometheus.NewDesc("akash_net_failing_leases", "Leases that have failed and are tried again.", nil, nil)
	leases        = prometheus.NewDesc("akash_net_leases", "Leases by the state of what they hold.", []string{"state"}, nil)
	hosts         = prometheus.NewDesc("akash_net_hosts", "Hosts, and paths with a holder of their own, by state.", []string{"state"}, nil)
	unserved      = prometheus.NewDesc("akash_net_unserved_hosts", "Hosts, and paths with a holder of their own, that their leases want served and that are not, by reason.", []string{"reason"}, nil)
	addresses     = prometheus.NewDesc("akash_net_addresses", "Addresses of IP endpoints by state.", []string{"state"}, nil)
	poolAddresses = prometheus.NewDesc("akash_net_pool_addresses", "Addresses of a pool that can be leased.", []string{"pool"}, nil)
	poolFree      = prometheus.NewDesc("akash_net_pool_free_addresses", "Addresses of a pool that are free.", []string{"pool"}, nil)
)

// NewMetrics returns the metrics of what is shown.
func NewMetrics(s *Shown) *Metrics {
	m := &Metrics{
		shown: s,
		commands: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "akash_net_commands_total", Help: "Commands that have ended, by action and result.",
		}, []string{"action", "result"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "akash_net_command_duration_seconds", Help: "How long commands took, by action.", Buckets: prometheus.ExponentialBuckets(0.05, 2, 12),
		}, []string{"action"}),
	}
	for _, action := range []reconcile.Action{reconcile.Apply, reconcile.Heal, reconcile.Release, Transfer} { // a rate begins with 0
		m.commands.WithLabelValues(string(action), succeeded)
		m.commands.WithLabelValues(string(action), failed)
		m.took.WithLabelValues(string(action))
	}
	return m
}

// Ran records a command that has ended.
func (m *Metrics) Ran(action reconcile.Action, took time.Duration, err error) {
	result := succeeded
	if err != nil {
		result = failed
	}
	m.commands.WithLabelValues(string(action), result).Inc()
	m.took.WithLabelValues(string(action)).Observe(took.Seconds())
}

// Describe describes the metrics (prometheus.Collector).
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{failingLeases, leases, hosts, unserved, addresses, poolAddresses, poolFree} {
		out <- d
	}
	m.commands.Describe(out)
	m.took.Describe(out)
}

// Collect collects the metrics (prometheus.Collector). What is not ready has none of what is watched.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	m.commands.Collect(out)
	m.took.Collect(out)
	ctx := context.Background()
	failing, err := m.shown.Failing(ctx)
	if err != nil {
		return
	}
	gauge := func(of *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, labels...)
	}
	gauge(failingLeases, float64(len(failing)))
	book, err := m.shown.Book(ctx)
	if err != nil {
		return
	}
	for of, states := range map[*prometheus.Desc][]string{leases: leaseStates(book.Leases), hosts: hostStates(book.Hosts), addresses: addressStates(book.IPs)} {
		count := map[string]float64{}
		for _, state := range states {
			count[state]++
		}
		for state, n := range count {
			gauge(of, n, state)
		}
	}
	seen := map[string]bool{}
	for _, p := range book.Pools {
		if seen[p.Name] { // a range in dedicated mode may be called as a pool is
			continue
		}
		seen[p.Name] = true
		gauge(poolAddresses, float64(p.Addresses), p.Name)
		gauge(poolFree, float64(p.Free), p.Name)
	}
	answers, err := m.shown.Answers(ctx)
	if err != nil {
		return
	}
	why := map[string]float64{}
	for _, r := range answers.Hosts {
		why[r.Unserved]++
	}
	for _, reason := range view.Unserved { // a missing value would be no alert
		gauge(unserved, why[reason], reason)
	}
}

func leaseStates(rows []view.LeaseRow) (states []string) {
	for _, r := range rows {
		states = append(states, r.State)
	}
	return states
}

func hostStates(rows []view.HostRow) (states []string) {
	for _, r := range rows {
		states = append(states, r.State)
	}
	return states
}

// addressStates returns the state of each address, or of each IP endpoint without one. One whose ports differ is Partial.
func addressStates(rows []view.IPRow) (states []string) {
	type key struct{ address, endpoint string }
	by := map[key]string{}
	for _, r := range rows {
		if r.State == view.StateWithheld { // another lease has it
			continue
		}
		k := key{endpoint: r.SharingKey}
		if r.Address.IsValid() {
			k = key{address: r.Address.String()}
		}
		switch was, ok := by[k]; {
		case !ok:
			by[k] = r.State
		case was != r.State:
			by[k] = view.StatePartial
		}
	}
	for _, state := range by {
		states = append(states, state)
	}
	return states
}
