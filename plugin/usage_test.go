package plugin

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// What is no name, or no name of what is listed, is exit code 2 with what to type, before a cluster is asked.
func TestStateNamesThatAreNotUnderstood(t *testing.T) {
	for line, want := range map[string]string{
		"pods":                            `there is no subject "pods"; hosts, ips,`,
		"hosts shop_example.com":          "is not a host name",
		"ips 203.0.113.0/28":              "is a range of addresses",
		"hosts 203.0.113.5":               "address/203.0.113.5 does not name any of the hosts; they are named by a host",
		"ips shop.example.com":            "host/shop.example.com does not name any of the ips",
		"leases shop.example.com":         "they are named by a lease (OWNER/DSEQ/GSEQ)",
		"pools akash":                     "they have no names to choose by",
		"routes ingress/ns/a":             "is not a host, address, endpoint or lease",
		"hosts ips shop.example.com":      "no name is given for the ips; they are named by an address",
		"shop.example.com public":         `"public": which subject?`,
		"shop.example.com hosts":          "Subjects come before names",
		"hosts a.b -l x=y":                "choose rows by their leases",
		"hosts --ignore-not-found":        "--ignore-not-found is about names",
		"--problems problem/StrayRoute/a": "is not a host, address, endpoint or lease",
		"--problems host/a.b":             "--problems cannot be combined with a subject",
	} {
		line = strings.ReplaceAll(line, "OWNER", testOwner)
		if code, _, errOut := main1(t, "", append([]string{"state"}, strings.Fields(line)...)...); code != codeUsage || !strings.Contains(errOut, want) {
			t.Errorf("state %s: exit code %d, %q; want 2 and %q", line, code, errOut, want)
		}
	}
}

// Usage errors are found before a request is sent.
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

// Help that cannot be written is no wrong usage.
func TestHelpThatIsLost(t *testing.T) {
	var errOut bytes.Buffer
	code := Main(t.Context(), []string{"kubectl-akash_net", "--help"}, genericiooptions.IOStreams{In: strings.NewReader(""), Out: fullDisk{}, ErrOut: &errOut})
	if code != 1 || strings.Contains(errOut.String(), "for usage") || !strings.Contains(errOut.String(), "standard output cannot be written") {
		t.Errorf("exit code %d, %q", code, errOut.String())
	}
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }
