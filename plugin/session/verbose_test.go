package session

import (
	"strings"
	"testing"
)

// No data of a Secret is logged, however the log cuts it off. Other bodies are logged as they are.
func TestRedact(t *testing.T) {
	const secret = `{"apiVersion":"v1","data":{"a":"c2VjcmV0","b\"c":"c2VjcmV0"},"kind":"Secret","stringData":{"d": "{\"auths\":{\"secret\":1}}"},"type":"Opaque"}`
	for n := range len(secret) + 1 {
		text := redact([]any{secret[:n]})[0].(string)
		if strings.Contains(text, "c2V") || strings.Contains(text, "auths") || strings.Contains(text, "secret") {
			t.Errorf("%s\nis logged as\n%s", secret[:n], text)
		}
	}
	if got, want := redact([]any{secret})[0], `{"apiVersion":"v1","data":{<omitted>},"kind":"Secret","stringData":{<omitted>},"type":"Opaque"}`; got != want {
		t.Errorf("it is logged as\n%s, want\n%s", got, want)
	}
	const other = `{"kind":"Lease","metadata":{"name":"data"},"spec":{"holderIdentity":"data"}}`
	if got := redact([]any{"Body", other, 7}); got[0] != "Body" || got[1] != other || got[2] != 7 {
		t.Errorf("another message is logged as %v", got)
	}
}

// kubectl keeps what it has applied in an annotation, the data of a Secret with it; the log may cut it anywhere.
func TestLastAppliedIsNotLogged(t *testing.T) {
	const annotated = `{"kind":"Secret","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"a\":\"c2VjcmV0\"}}\n","x":"y"}}}`
	for n := range annotated {
		if text := redact([]any{annotated[:n]})[0].(string); strings.Contains(text, "c2V") {
			t.Errorf("%s\nis logged as\n%s", annotated[:n], text)
		}
	}
	if got, want := redact([]any{annotated})[0], `{"kind":"Secret","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"<omitted>","x":"y"}}}`; got != want {
		t.Errorf("it is logged as\n%s, want\n%s", got, want)
	}
}
