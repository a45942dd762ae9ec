package grammar_test

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/grammar"
)

// Each setting takes its example, and names it where it takes a value not.
func TestExamples(t *testing.T) {
	for _, s := range grammar.Settings() {
		if err := s.Check(s.Example); err != nil {
			t.Errorf("%s: %v", s.Key, err)
		}
		for _, value := range []string{"", "?"} {
			if err := s.Check(value); err == nil || !strings.Contains(err.Error(), s.Example) {
				t.Errorf("%s takes %q: %v", s.Key, value, err)
			}
		}
	}
}

func TestUnknownSetting(t *testing.T) {
	for _, key := range []string{"", "timeout", "haproxy.router.openshift.io/Timeout", "haproxy.router.openshift.io/", "nginx.ingress.kubernetes.io/server-snippet"} {
		if s, ok := grammar.Find(key); ok {
			t.Errorf("%q is %s", key, s.Key)
		}
	}
}
