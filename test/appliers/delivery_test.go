package appliers_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// job is a job of GitHub Actions or of GitLab that delivers leases.
type job struct {
	// Steps are those of GitHub.
	Steps []struct {
		If  string `json:"if"`
		Run string `json:"run"`
	} `json:"steps"`
	// Script and After are GitLab's.
	Script []string `json:"script"`
	After  []string `json:"after_script"`
}

// run runs the commands of the job in a clone as GitHub and GitLab do: what is for always also after a failure. The error is that of
// the first command that fails.
func (j job) run(t *testing.T, in string) (failed error) {
	t.Helper()
	for _, step := range j.Steps {
		if step.Run != "" && (failed == nil || step.If == "always()") {
			failed = errors.Join(failed, shell(t, in, step.Run))
		}
	}
	for _, script := range [][]string{j.Script, j.After} {
		if len(script) > 0 {
			failed = errors.Join(failed, shell(t, in, strings.Join(script, "\n")))
		}
	}
	return failed
}

// shell runs commands in a folder, with the plugin, kubectl and the cluster, until one fails.
func shell(t *testing.T, in, commands string) error {
	t.Helper()
	kubectl, err := programs.Path("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", commands)
	cmd.Dir = in
	cmd.Env = append(os.Environ(), "PATH="+harness.Binaries()+":"+filepath.Dir(kubectl)+":"+os.Getenv("PATH"),
		"KUBECONFIG="+harness.Plane.Kubeconfig, "HOME="+t.TempDir())
	return harness.Succeed(cmd)
}

// delivery returns what docs/pipelines.md has for a pipeline that renders: its script, and its jobs by the service that runs them.
func delivery(t *testing.T) (script string, jobs map[string]job) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "pipelines.md"))
	if err != nil {
		t.Fatal(err)
	}
	jobs = map[string]job{}
	for i, block := range strings.Split(string(text), "\n```") {
		info, block, _ := strings.Cut(block, "\n")
		switch {
		case i%2 == 0:
		case info == "sh" && strings.Contains(block, "failed=0"):
			script = block
		case info == "yaml" && strings.Contains(block, "sh render.sh"):
			var gitHub struct {
				Jobs map[string]job `json:"jobs"`
			}
			var gitLab map[string]job
			if err := yaml.Unmarshal([]byte(block), &gitHub); err == nil && gitHub.Jobs != nil {
				jobs["GitHub"] = gitHub.Jobs["deliver"]
			} else if err := yaml.Unmarshal([]byte(block), &gitLab); err == nil {
				jobs["GitLab"] = gitLab["deliver"]
			}
		}
	}
	if script == "" || len(jobs) != 2 {
		t.Fatalf("docs/pipelines.md has the script %q and %d jobs", script, len(jobs))
	}
	return script, jobs
}

// The jobs of the documentation push what they render. A definition with an error fails the job, and costs its lease nothing; the others
// are delivered all the same. The cluster's pool stays beside those of a range that was widened, also in the first run, and what is rendered
// for a tenant without leases is named.
func TestDeliveryJobs(t *testing.T) {
	t.Parallel()
	script, jobs := delivery(t)
	for name, job := range jobs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, err := os.ReadFile(example("provider-config.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			work := filepath.Join(dir, "work")
			must := func(commands string) {
				t.Helper()
				if err := shell(t, dir, commands); err != nil {
					t.Fatal(err)
				}
			}
			commit := func() {
				t.Helper()
				must("cd work; git add -A; git -c user.name=me -c user.email=me@example.com commit -qm leases; git push -q origin HEAD:main")
			}
			pushed := func(tenant string, id lease.ID) string {
				t.Helper()
				must("rm -rf pushed; git clone -q -b main origin pushed")
				text, err := os.ReadFile(filepath.Join(dir, "pushed", "rendered", tenant, filepath.Base(repository{}.file(id))))
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			must("git init -q --bare -b main origin; git clone -q origin work 2>/dev/null; mkdir -p work/leases/shop work/leases/blog")
			shop, shopHost := tenant(t)
			blog, blogHost := tenant(t)
			shops, blogs := repository{leases: filepath.Join(work, "leases", "shop")}, repository{leases: filepath.Join(work, "leases", "blog")}
			shops.define(t, shop, shopHost)
			blogs.define(t, blog, blogHost)
			shops.write(t, filepath.Join(work, "render.sh"), script)
			shops.write(t, filepath.Join(work, "provider.yaml"), strings.Replace(string(config), "203.0.113.0/28", "203.0.113.0/27", 1))
			commit()
			if err := job.run(t, work); err != nil {
				t.Fatal(err)
			}
			if first := pushed("shop", shop); !strings.Contains(first, shopHost) {
				t.Errorf("pushed is\n%s", first)
			}
			before := pushed("blog", blog)
			if pools, err := os.ReadFile(filepath.Join(dir, "pushed", "rendered", "pools", "pools.yaml")); err != nil || strings.Contains(string(pools), "203.0.113.0/27") ||
				!strings.Contains(string(pools), "203.0.113.0/28") || !strings.Contains(string(pools), "203.0.113.16/28") {
				t.Errorf("beside the pool that the cluster has, the first run makes those of the whole range (%v):\n%s", err, pools)
			}

			_, newHost := tenant(t)
			shops.define(t, shop, newHost)
			blogs.define(t, blog, "BAD_")
			commit()
			if err := job.run(t, work); err == nil || !strings.Contains(err.Error(), "BAD_") {
				t.Errorf("a definition with an error: %v", err)
			}
			if text := pushed("shop", shop); !strings.Contains(text, newHost) {
				t.Errorf("the good lease is not delivered:\n%s", text)
			}
			if text := pushed("blog", blog); text != before {
				t.Errorf("the lease with an error has another file:\n%s", text)
			}
			must("cd work; git rm -rq leases/blog")
			commit()
			if err := job.run(t, work); err == nil || !strings.Contains(err.Error(), "rendered/blog: there are no leases in leases/blog") {
				t.Errorf("a tenant without leases: %v", err)
			}
			if text := pushed("blog", blog); text != before {
				t.Errorf("the tenant without leases has another file:\n%s", text)
			}
			for _, id := range []lease.ID{shop, blog} {
				harness.Run(t.Context(), "release", id.Group().String()).Exits(t, 0)
			}
		})
	}
}
