package document

import (
	"errors"
	"strings"
	"testing"
)

// A document that is too large ends the stream before it is held, the others are read.
func TestSize(t *testing.T) {
	const stream = "a: 1\n---\nb: 22222222222\n---\nc: 3\n"
	var read []string
	var failed error
	for text, err := range Texts(strings.NewReader(stream), "f", 16) {
		if failed = err; err == nil {
			read = append(read, string(text.data))
		}
	}
	if len(read) != 1 || read[0] != "a: 1\n" || failed == nil || !strings.HasPrefix(failed.Error(), "f:2:1: the document is larger than 16") {
		t.Errorf("read %q, error %v", read, failed)
	}
}

// A stream that never ends is not read to its end.
func TestEndless(t *testing.T) {
	read := 0
	endless := readerFunc(func(p []byte) (int, error) {
		n := copy(p, "a: 1\n")
		if read += n; read > 2<<20 {
			return 0, errors.New("it reads on and on")
		}
		return n, nil
	})
	for _, err := range Texts(endless, "f", 1<<20) {
		if err == nil || !strings.Contains(err.Error(), "limits.documentSize") {
			t.Errorf("error %v", err)
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestLongValues(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for doc, err := range Read(strings.NewReader("port: "+long+"\n? "+long+"\n: 1\n"), "f") {
		if err != nil {
			t.Fatal(err)
		}
		m := doc.Root().StrictMapping([]string{"port"})
		m.Get("port").Uint(1, 2, "a port")
		if n := len(doc.Problems.Error()); len(doc.Problems) != 2 || n > 2000 {
			t.Errorf("%d problems of %d bytes", len(doc.Problems), n)
		}
	}
}
