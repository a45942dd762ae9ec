package commands

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Neither dry run writes, and both tell what an apply would do with what the lease runs. A plan has no passwords, and makes
// its changes and no others.
func TestPreviews(t *testing.T) {
	t.Parallel()
	x := newDeployer().web("web:1").cache(persistent, mounted).watch()
	for _, mode := range []string{"client", "server"} {
		x.do(t, 0, "apply", "--dry-run="+mode).Prints(t, "deployment/web created", "statefulset/cache created", "secret/docker-creds-web created")
	}
	if got := names(x.objects(t)); len(got) > 0 {
		t.Errorf("dry runs made %q", got)
	}
	x.apply(t)
	first := x.objects(t)
	x.without("watch").web("web:2")
	x.services["web"] = strings.Replace(x.services["web"], password, password+"2", 1)
	for _, mode := range []string{"client", "server"} {
		x.do(t, 0, "apply", "--dry-run="+mode).Prints(t, "deployment/web configured", "deployment/watch pruned", "secret/docker-creds-web configured")
	}
	x.do(t, 1, "diff").Prints(t, "*** (before)", "*** (after)", "image: web:2")
	file := harness.File(t, x.do(t, 1, "diff", "-o", "json").Stdout)
	harness.Run(t.Context(), "apply", "--plan", file).Exits(t, 1).Says(t, "no plan has passwords")
	if diff := cmp.Diff(versionsOf(first), versionsOf(x.objects(t))); diff != "" {
		t.Errorf("previews changed (-before +now):\n%s", diff)
	}
	x.web("web:2")
	text := x.do(t, 1, "diff", "-o", "json").Stdout
	var p plan.Plan
	if err := json.Unmarshal([]byte(text), &p); err != nil || !p.Settings.Workloads {
		t.Fatal("the plan does not say that it is of workloads", err)
	}
	silent(t, harness.Run(t.Context(), "apply", "--plan", harness.File(t, text), "--wait=false").Exits(t, 0).Prints(t, "deployment/web configured", "deployment/watch pruned"))
	x.do(t, 0, "diff")
	now := x.objects(t)
	if now["deployment/watch"] != nil || now["deployment/web"].GetUID() != first["deployment/web"].GetUID() {
		t.Errorf("the plan made %q", names(now))
	}
}

// The cards that a reservation chose are said by a file, and later by the Manifest; without either nothing is written.
func TestCards(t *testing.T) {
	t.Parallel()
	x := newDeployer().with("train", "image: 'train:1', expose: [{port: 80, to: [{global: true}], accept: ["+harness.NewHost("t")+"]}]",
		disk+", gpu: {units: 1, attributes: {vendor: {nvidia: [{model: a100}]}}}", 1)
	x.do(t, 3, "apply").Says(t, "--scheduler-params")
	if got := names(x.objects(t)); len(got) > 0 {
		t.Errorf("made were %q", got)
	}
	params := harness.File(t, `{"1": {"runtime_class": "nvidia", "resources": {"gpu": {"vendor": "nvidia", "model": "a100", "memory_size": "80Gi", "interface": ""}}}}`)
	x.apply(t, "--scheduler-params", params)
	pods, _ := json.Marshal(template(x.objects(t)["deployment/train"]))
	if !strings.Contains(string(pods), "a100.ram.80Gi") || !strings.Contains(string(pods), `"runtimeClassName":"nvidia"`) {
		t.Errorf("the pod is %s", pods)
	}
	if r := x.apply(t); strings.Contains(r.Stdout, "configured") {
		t.Errorf("without the file: %s", r)
	}
	x.with("train", "image: 'train:1', expose: [{port: 80, to: [{global: true}], accept: ["+harness.NewHost("t")+"]}]",
		disk+", gpu: {units: 2, attributes: {vendor: {nvidia: [{model: a100}]}}}", 1)
	x.do(t, 3, "apply").Says(t, "--scheduler-params")
}
