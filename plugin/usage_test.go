package plugin

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Wrong usage is told before any cluster is asked.
func TestStateUsage(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nonexistent")
	for words, want := range map[string]string{
		"routes,pods":                        `no subject "pods"`,
		"hosts --shard blue":                 "--shard is about routes",
		"routes -f - --watch":                "look at a cluster, not at files",
		"--problems -f -":                    "look at a cluster, not at files",
		"routes -f - --shard blue":           `no shard "blue" (spec.shards: -)`,
		"hosts,":                             `no subject ""`,
		"-o xml":                             `unknown format "xml"`,
		"-o custom-columns":                  "name the columns",
		"-o custom-columns=HOST":             `"HOST" is not HEADER:PATH`,
		"-o custom-columns=HOST:.host[":      "column HOST",
		"-o jsonpath={.hosts":                "jsonpath",
		"-o jsonpath=":                       "no template",
		"-o jsonpath-file=/nonexistent/file": "/nonexistent/file",
		"-l a=b=c":                           "--selector",
		"--watch":                            "--watch shows one subject",
		"hosts ips --watch":                  "--watch shows one subject",
		"hosts --unknown":                    "unknown flag",
	} {
		t.Run(words, func(t *testing.T) {
			var out, errOut bytes.Buffer
			args := append([]string{"kubectl-akash_net", "state"}, strings.Fields(words)...)
			code := Main(context.Background(), args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut})
			if code != codeUsage || out.Len() > 0 || !strings.Contains(errOut.String(), want) {
				t.Errorf("code %d, stdout %q, stderr %q; want code %d and %q on stderr only", code, out.String(), errOut.String(), codeUsage, want)
			}
		})
	}
}
