package emit_test

import (
	"bytes"
	"testing"

	"github.com/akash-net/kubectl-akash-net/emit"
)

// WriteJSON keeps the order of fields, and does not escape HTML.
func TestWriteJSON(t *testing.T) {
	var out bytes.Buffer
	value := struct {
		B string `json:"b"`
		A []int  `json:"a"`
	}{"<a&b>", []int{1}}
	const want = "{\n  \"b\": \"<a&b>\",\n  \"a\": [\n    1\n  ]\n}\n"
	if err := emit.WriteJSON(&out, value); err != nil || out.String() != want {
		t.Errorf("%v: %s", err, out.String())
	}
	if err := emit.WriteJSON(&out, make(chan int)); err == nil {
		t.Error("a channel was written")
	}
}
