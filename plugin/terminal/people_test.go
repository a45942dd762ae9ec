package terminal

import (
	"bytes"
	"testing"
)

// A character may be cut by the writes that print it.
func TestCharactersInTwoWrites(t *testing.T) {
	var out bytes.Buffer
	w := &People{Out: &out}
	for _, b := range []byte("ä\u202e\u009b…\xff.") {
		if n, err := w.Write([]byte{b}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if got, want := out.String(), `ä\u202e\u009b…\xff.`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
