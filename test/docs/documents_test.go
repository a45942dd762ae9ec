package docs

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Documents that the documentation shows are read by the readers that users meet; those of Kubernetes by its API server.
func TestDocumentsAreRead(t *testing.T) {
	seen := map[string]int{}
	for _, file := range documents(t) {
		for _, b := range blocks(t, file) {
			if b.info != "yaml" {
				continue
			}
			name := fmt.Sprintf("%s:%d", file, b.line)
			switch {
			case strings.Contains(b.text, "kind: LeaseDefinition"):
				seen["LeaseDefinition"]++
				count := 0
				problems, err := input.Read(t.Context(), strings.NewReader(b.text), name, input.Options{}, func(*lease.Definition) error {
					count++
					return nil
				})
				if err != nil || len(problems) > 0 || count == 0 {
					t.Errorf("%s: %d definitions, %v, %v", name, count, problems, err)
				}
			case strings.Contains(b.text, "kind: ProviderConfig"):
				seen["ProviderConfig"]++
				if _, problems, err := config.Read(strings.NewReader(b.text), name); err != nil || len(problems) > 0 {
					t.Errorf("%s: %v, %v", name, problems, err)
				}
			case strings.Contains(b.text, "deployment-"):
				seen["provider.yaml"]++
				if _, problems, err := config.Read(strings.NewReader(b.text), name); err != nil || len(problems) > 0 {
					t.Errorf("%s: %v, %v", name, problems, err)
				}
			case strings.Contains(b.text, ".k8s.io/v1\n") && !strings.Contains(b.text, "kustomize"):
				seen["Kubernetes"]++
				if err := harness.Kubectl(t.Context(), b.text, nil, "apply", "--server-side", "--dry-run=server", "-f", "-"); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			default:
				var document any
				if err := yaml.Unmarshal([]byte(b.text), &document); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	for _, kind := range []string{"LeaseDefinition", "ProviderConfig", "provider.yaml", "Kubernetes"} {
		if seen[kind] == 0 {
			t.Errorf("no %s is shown", kind)
		}
	}
}

// A block ```yaml sdl is the beginning of an SDL, its services and endpoints; the rest is added
// here. A block ```text that follows at once is what is said of it; without one, nothing is.
func TestSDLExamples(t *testing.T) {
	id, err := lease.ParseID("akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438020/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, file := range documents(t) {
		all := blocks(t, file)
		for i, b := range all {
			if b.info != "yaml sdl" {
				continue
			}
			count++
			want := ""
			if i+1 < len(all) && all[i+1].info == "text" {
				want = all[i+1].text
			}
			var got strings.Builder
			problems, err := input.Read(t.Context(), strings.NewReader(b.text+restOfSDL(t, b.text)), "deploy.yaml", input.Options{Lease: &id}, func(*lease.Definition) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				if p.Warning {
					got.WriteString("Warning: ")
				}
				fmt.Fprintln(&got, p)
			}
			if diff := cmp.Diff(want, got.String()); diff != "" {
				t.Errorf("%s:%d (-document +program):\n%s", file, b.line, diff)
			}
		}
	}
	if count < 5 {
		t.Errorf("only %d SDLs are shown", count)
	}
}

// restOfSDL deploys the services of an SDL.
func restOfSDL(t *testing.T, text string) string {
	t.Helper()
	var sdl struct{ Services map[string]any }
	if err := yaml.Unmarshal([]byte(text), &sdl); err != nil {
		t.Fatal(err)
	}
	rest := `version: "2.0"
profiles:
  compute: {small: {resources: {cpu: {units: 1}, memory: {size: 1Gi}, storage: {size: 1Gi}}}}
  placement: {dcloud: {pricing: {}}}
deployment:
`
	for _, name := range slices.Sorted(maps.Keys(sdl.Services)) {
		rest += "  " + name + ": {dcloud: {profile: small, count: 1}}\n"
	}
	return rest
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	// inRepository are words in backticks that look like the path of a file that is kept here.
	inRepository = regexp.MustCompile("`((?:manifests|docs|test|lease|render|state|apply|plugin|bench|cmd)/[\\w./-]*)`")
)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, file := range documents(t) {
		text := outside(read(t, file))
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, err := url.Parse(m[1])
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if target.Scheme != "" {
				continue
			}
			to := file
			if target.Path != "" {
				to = path.Join(path.Dir(file), target.Path)
			}
			if !exists(t, to) {
				t.Errorf("%s: %s leads nowhere", file, m[1])
			} else if target.Fragment != "" && !slices.Contains(anchors(read(t, to)), target.Fragment) {
				t.Errorf("%s: %s has no heading #%s", file, to, target.Fragment)
			}
		}
	}
}

// anchors are what GitHub makes of the headings.
func anchors(text string) []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(outside(text), -1) {
		plain := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, strings.ReplaceAll(plain, " ", "-"))
	}
	return out
}

var (
	makeTarget = regexp.MustCompile(`\bmake ([a-z][a-z-]*)`)
	example    = regexp.MustCompile(`manifests/examples/[\w.-]+`)
)

func TestFilesAndTargetsExist(t *testing.T) {
	makefile := read(t, "Makefile")
	for _, file := range documents(t) {
		text := read(t, file)
		named := example.FindAllString(text, -1)
		for _, m := range inRepository.FindAllStringSubmatch(text, -1) {
			named = append(named, m[1])
		}
		for _, name := range named {
			if !exists(t, name) {
				t.Errorf("%s names %s, which does not exist", file, name)
			}
		}
		code := ""
		for _, b := range blocks(t, file) {
			if b.info == "sh" || b.info == "console" {
				code += b.text
			}
		}
		for _, m := range regexp.MustCompile("`[^`\n]+`").FindAllString(outside(text), -1) {
			code += m + "\n"
		}
		for _, m := range makeTarget.FindAllStringSubmatch(code, -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s names make %s, which the Makefile does not have", file, m[1])
			}
		}
	}
}

func TestEveryDocumentIsReachable(t *testing.T) {
	reached := map[string]bool{"README.md": true}
	queue := []string{"README.md"}
	for len(queue) > 0 {
		file := queue[0]
		queue = queue[1:]
		for _, m := range link.FindAllStringSubmatch(outside(read(t, file)), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			to := path.Join(path.Dir(file), target)
			if strings.Contains(target, ":") || reached[to] || filepath.Ext(to) != ".md" && !strings.HasSuffix(target, "decisions") {
				continue
			}
			reached[to] = true
			if filepath.Ext(to) == ".md" {
				queue = append(queue, to)
			}
		}
	}
	for _, file := range documents(t) {
		if !reached[file] && !reached[path.Dir(file)] {
			t.Errorf("no link leads from README.md to %s", file)
		}
	}
}

// A cell of docs/development.md has at most two lines: package comments say the rest. A glossary is short, and so are the pages together.
func TestDocumentsAreShort(t *testing.T) {
	for _, line := range strings.Split(outside(read(t, "docs/development.md")), "\n") {
		for cell := range strings.SplitSeq(line, "|") {
			if strings.HasPrefix(line, "|") && len(cell) > 240 {
				t.Errorf("docs/development.md: a cell has %d characters: %.60s…", len(cell), cell)
			}
		}
	}
	if rows := strings.Count(read(t, "docs/glossary.md"), "\n| ") - 2; rows > 25 {
		t.Errorf("docs/glossary.md has %d rows; at most 25 are wanted", rows)
	}
	words := 0
	for _, file := range documents(t) {
		if path.Dir(file) == "docs" {
			words += len(strings.Fields(read(t, file)))
		}
	}
	if words > 40000 {
		t.Errorf("the pages have %d words", words)
	}
}
