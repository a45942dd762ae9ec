package findings_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin/findings"
	"github.com/akash-net/kubectl-akash-net/state"
)

// hostile are findings of all rules and levels, in files with names that mean something to the formats.
func hostile() findings.Report {
	var found []findings.Finding
	for i, file := range []string{
		"a.yaml", "folder/ä b.yaml", "50%,a:b.yaml", "new\nline\r.yaml", "\xff\xfe.yaml", "esc\x1b[31m.yaml", "-", "", "/else/where.yaml", "../up.yaml",
	} {
		for j, rule := range []findings.Rule{
			findings.Held, findings.InUse, findings.Rival, findings.NoAddress, findings.Withheld, findings.Unproved, findings.InvalidDefinition,
			findings.InvalidLedger, findings.Doubtful, findings.Refused, findings.Free, findings.Own,
		} {
			f := findings.Finding{
				Rule: rule, Level: []findings.Level{findings.Error, findings.Warning}[j%2], Message: "100% of\r\n::error::it, \xff\x1b[31m" + file,
				By: findings.HolderOf(state.Holder{Owner: "akash1x", Object: "ingress a/b"}),
			}
			if rule == findings.Free || rule == findings.Own {
				f.Level = findings.None
			}
			if j%3 > 0 {
				f.Kind, f.Name = "host", "shop.example.com"
			}
			at := lease.Place{File: file}
			if i%2 == 0 || j%2 == 0 {
				at.Line, at.Column = i+1, j+1
			}
			found = append(found, f.At(at))
		}
	}
	return findings.NewReport(found)
}

// annotation is what GitHub's runner makes of a line of a log, by its rules: actions/runner, src/Runner.Common/ActionCommand.cs.
func annotation(t *testing.T, line string) (level string, properties map[string]string, message string) {
	t.Helper()
	head, message, ok := strings.Cut(strings.TrimPrefix(line, "::"), "::")
	if !ok || !strings.HasPrefix(line, "::") {
		t.Fatalf("%q is no command", line)
	}
	level, rest, _ := strings.Cut(head, " ")
	properties = map[string]string{}
	for _, p := range strings.Split(rest, ",") {
		name, value, _ := strings.Cut(p, "=")
		properties[name] = strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%").Replace(value)
	}
	return level, properties, strings.NewReplacer("%0D", "\r", "%0A", "\n", "%25", "%").Replace(message)
}

// Each error and warning is one command, from which the runner reads what went into it.
func TestAnnotations(t *testing.T) {
	report := hostile()
	var want []findings.Finding
	for _, f := range report.Findings {
		if f.Level != findings.None {
			want = append(want, f)
		}
	}
	var text bytes.Buffer
	if err := report.WriteGitHub(&text, ""); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), text.String())
	}
	for i, f := range want {
		level, properties, message := annotation(t, lines[i])
		file := f.File
		if file == "-" {
			file = ""
		}
		if level != string(f.Level) || properties["file"] != file || properties["title"] == "" || !strings.HasSuffix(message, f.Message) || strings.ContainsAny(lines[i], "\r\n") {
			t.Errorf("%q is read as %s %q %q of %+v", lines[i], level, properties, message, f)
		}
		if (properties["line"] != "") != (f.Line > 0 && file != "") {
			t.Errorf("%q has the line %q of %+v", lines[i], properties["line"], f)
		}
	}
}

// Files are named relative to the root, and those outside of it as they are.
func TestRoot(t *testing.T) {
	root := t.TempDir()
	t.Chdir(root)
	t.Setenv("GITHUB_WORKSPACE", filepath.Dir(root))
	f := findings.Finding{Rule: findings.Held, Level: findings.Error, Message: "held"}.At(lease.Place{File: "a.yaml", Line: 1, Column: 2})
	var text bytes.Buffer
	if err := findings.NewReport([]findings.Finding{f}).WriteGitHub(&text, findings.SourceRoot()); err != nil {
		t.Fatal(err)
	}
	if want := "::error file=" + filepath.Base(root) + "/a.yaml,line=1,col=2,title=Held by another owner::held\n"; text.String() != want {
		t.Errorf("%q, want %q", text.String(), want)
	}
}
