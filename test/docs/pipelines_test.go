package docs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// pipeline is a job that the documentation shows, as GitHub and GitLab run it: each command in a shell that ends with the first error.
type pipeline struct {
	name     string
	commands []string
}

// pipelines are the jobs of a document that run the plugin.
func pipelines(t *testing.T, path string) (all []pipeline) {
	t.Helper()
	for _, b := range blocks(t, path) {
		if b.info != "yaml" || !strings.Contains(b.text, "kubectl akash-net") {
			continue
		}
		var document map[string]any
		if err := yaml.Unmarshal([]byte(b.text), &document); err != nil {
			t.Fatalf("%s:%d: %v", path, b.line, err)
		}
		if jobs, ok := document["jobs"].(map[string]any); ok {
			document = jobs
		}
		for name, job := range document {
			job, _ := job.(map[string]any)
			p := pipeline{name: name}
			steps, _ := job["steps"].([]any)
			for _, step := range steps {
				if run, ok := step.(map[string]any)["run"].(string); ok {
					p.commands = append(p.commands, run)
				}
			}
			script, _ := job["script"].([]any)
			for _, line := range script {
				p.commands = append(p.commands, line.(string))
			}
			if len(p.commands) > 0 {
				all = append(all, p)
			}
		}
	}
	return all
}

// The jobs of the documentation accept a pull request whose leases can have what they ask for, and refuse one that asks for what
// another owner holds, without a cluster and a home.
func TestPipelines(t *testing.T) {
	jobs := pipelines(t, "docs/pipelines.md")
	if len(jobs) < 2 {
		t.Fatalf("docs/pipelines.md has %d jobs", len(jobs))
	}
	for _, job := range jobs {
		t.Run(job.name, func(t *testing.T) {
			shop := read(t, "manifests/examples/shop.yaml")
			repository := t.TempDir()
			write := func(name, text string) {
				path := filepath.Join(repository, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("provider.yaml", read(t, "manifests/examples/provider-config.yaml"))
			write("leases/shop/lease.yaml", shop)
			write("ledger/claims.yaml", claimOfShop)
			if code, out := job.run(t, repository); code != 0 {
				t.Errorf("a good pull request: exit code %d:\n%s", code, out)
			}
			write("leases/thief/lease.yaml", strings.Replace(read(t, "manifests/examples/blog.yaml"), "blog.example.com", "shop.example.com", 1))
			if code, out := job.run(t, repository); code != 4 || !strings.Contains(out, "shop.example.com is held by") {
				t.Errorf("a bad pull request: exit code %d:\n%s", code, out)
			}
		})
	}
}

// run runs the commands of a job until one fails, and returns its exit code.
func (p pipeline) run(t *testing.T, in string) (code int, out string) {
	t.Helper()
	var text bytes.Buffer
	for _, command := range p.commands {
		cmd := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", command)
		cmd.Dir, cmd.Stdout, cmd.Stderr = in, &text, &text
		for _, variable := range environment(t) {
			if !strings.HasPrefix(variable, "KUBECONFIG=") && !strings.HasPrefix(variable, "HOME=") && !strings.HasPrefix(variable, "GITHUB_") {
				cmd.Env = append(cmd.Env, variable)
			}
		}
		if err := cmd.Run(); err != nil {
			return cmd.ProcessState.ExitCode(), text.String()
		}
	}
	return 0, text.String()
}

// claimOfShop is the claim of the example's host, as kubectl prints it.
const claimOfShop = `apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  annotations:
    net.akash.network/ledger: v1
    route.net.akash.network/h9fdlck2cci468cu0kf4lnhd3ldroposf0853fok6u4npffuk3og: '{"lease":"akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0","path":"/","service":"web","port":80}'
  labels:
    net.akash.network/kind: host
    net.akash.network/owner: akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h
  name: shop.example.com
  namespace: akash-net
`
