package commands

import (
	"context"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

const sdl = `
version: "2.0"
services:
  web:
    image: registry.example.com/web:1
    expose: [{port: 80, to: [{global: true}], accept: [HOST]}]
  db:
    image: registry.example.com/db:1
    expose: [{port: 5432, to: [{service: web}]}]
    params: {storage: {data: {mount: /data}}}
profiles:
  compute:
    web: {resources: {cpu: {units: 0.1}, memory: {size: 64Mi}, storage: {size: 64Mi}}}
    db: {resources: {cpu: {units: 0.1}, memory: {size: 64Mi}, storage: [{size: 64Mi}, {name: data, size: 1Gi, attributes: {persistent: true, class: beta2}}]}}
  placement:
    dcloud: {pricing: {web: {denom: uakt, amount: 1}, db: {denom: uakt, amount: 1}}}
deployment:
  web: {dcloud: {profile: web, count: WEBS}}
  db: {dcloud: {profile: db, count: 1}}
`

// deployment is a lease whose workloads the test deploys as they are rendered.
type deployment struct {
	id   lease.ID
	host string
}

func newDeployment(t *testing.T) *deployment {
	return &deployment{id: harness.LeaseOf(harness.NewOwner(t), 1), host: harness.NewHost("www")}
}

// render are the objects of the lease with so many replicas of web, as they are printed.
func (d *deployment) render(t *testing.T, webs string) string {
	t.Helper()
	file := harness.File(t, strings.NewReplacer("WEBS", webs, "HOST", d.host).Replace(sdl))
	return harness.Run(t.Context(), "render", "-f", file, "--lease", d.id.String(), "--workloads").Exits(t, 0).Stdout
}

// deploy applies what is rendered.
func (d *deployment) deploy(t *testing.T, webs string) {
	t.Helper()
	apply(t, d.render(t, webs))
}

func apply(t *testing.T, objects string) {
	t.Helper()
	if err := harness.Kubectl(t.Context(), objects, nil, "apply", "--server-side", "--force-conflicts", "-f", "-"); err != nil {
		t.Fatal(err)
	}
}

// shows waits until the lease's row of state leases has the columns.
func (d *deployment) shows(t *testing.T, state, ready, reason string) {
	t.Helper()
	var got harness.Result
	want := strings.TrimSpace(state + " " + ready + " " + reason)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("wanted: ", want, "\nlast shown: ", got)
		}
	})
	harness.Eventually(t, want, func(ctx context.Context) (bool, error) {
		if r := harness.Run(ctx, "state", "leases", d.id.String(), "--workloads", "--no-headers", "--ignore-not-found"); ctx.Err() == nil {
			got = r
		}
		return got.Code == 0 && strings.Contains(strings.Join(strings.Fields(got.Stdout), " "), want), nil
	})
}

// A lease that Akash's provider deployed, of which the ledger knows nothing, shows as one of ours.
func TestLeasesOfAkashsProvider(t *testing.T) {
	t.Parallel()
	x, kubelet := newDeployer(t).web("web:1").cache(persistent, mounted), harness.StartKubelet(t)
	x.deployAsAkash(t)
	d, ns := &deployment{id: x.ID}, x.Namespace()
	web, cache := harness.Pods(t, ns, "web", 2), harness.Pods(t, ns, "cache", 1)
	if v := web[0].Labels[versionLabel]; v != "4711" || web[0].Labels[lease.LabelOwner] != "" {
		t.Fatalf("the pod is not as Akash's provider makes it: %v", web[0].Labels)
	}
	d.shows(t, "active", "0/3", "")
	kubelet.Runs(t, append(web, cache...)...)
	d.shows(t, "complete", "3/3", "")
	kubelet.Prints(web[0], "hello\n")
	sameLines(t, harness.Run(t.Context(), "logs", d.id.String(), "--service", "web", "--prefix=false").Exits(t, 0), "hello")
	harness.Run(t.Context(), "events", d.id.String(), "--service", "web").Exits(t, 0).Prints(t, "ScalingReplicaSet")
	harness.Run(t.Context(), "status", d.id.Group().String()).Exits(t, 0).Prints(t, `"available": 2`)
}
