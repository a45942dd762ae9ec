package documents

import (
	"bytes"
	"io"
	"os"

	"github.com/akash-net/kubectl-akash-net/emit"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/render"
)

// spoolInMemory is the maximum size of a spool in memory, in bytes.
const spoolInMemory = 1 << 20

// spool holds output until all of it is known to be valid: in memory, or in a temporary file if it is large.
type spool struct {
	buffer bytes.Buffer
	file   *os.File
}

func (s *spool) Write(p []byte) (int, error) {
	if s.file == nil && s.buffer.Len()+len(p) <= spoolInMemory {
		return s.buffer.Write(p)
	}
	if s.file == nil {
		f, err := os.CreateTemp("", "akash-net-*")
		if err != nil {
			return 0, err
		}
		s.file = f
		_ = os.Remove(f.Name()) // a killed process leaves no file behind
		if _, err := s.buffer.WriteTo(f); err != nil {
			return 0, err
		}
		s.buffer = bytes.Buffer{}
	}
	return s.file.Write(p)
}

func (s *spool) copyTo(w io.Writer) error {
	if s.file == nil {
		_, err := s.buffer.WriteTo(w)
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(w, s.file)
	return err
}

// close also removes the file, because some systems cannot remove an open one.
func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
	}
}

// emitAll prints the objects that do emits. If do fails or emits none, it prints nothing and returns an error; --allow-empty
// accepts no objects.
func (f *renderFlags) emitAll(c *console.Console, do func(emit func([]render.Object) error) error) error {
	spool := &spool{}
	defer spool.close()
	encoder, err := emit.NewEncoder(spool, f.output)
	if err != nil {
		return err
	}
	count := 0
	err = do(func(objects []render.Object) error {
		for _, object := range objects {
			count++
			if err := encoder.Encode(object.Config); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if count == 0 && !f.allowEmpty {
		if f.pools {
			return emptyInput("pools")
		}
		return emptyInput("objects")
	}
	if err := encoder.Close(); err != nil {
		return err
	}
	return spool.copyTo(c.Out)
}

// emptyInput is the error about an input that yields nothing.
func emptyInput(what string) error {
	return lease.Problems{{Message: "the input needs no " + what +
		"; whoever applies an empty output with pruning deletes everything (--allow-empty prints it all the same)"}}
}
