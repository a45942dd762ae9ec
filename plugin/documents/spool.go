package documents

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// spoolInMemory is how much output is kept in memory before it goes to a temporary file.
const spoolInMemory = 1 << 20

// spool keeps output until it is known that all of it is good.
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
		// The file has no name from here on, so that nothing stays behind, whatever happens.
		_ = os.Remove(f.Name())
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

func (s *spool) close() {
	if s.file != nil {
		_ = errors.Join(s.file.Close(), removeLeft(s.file.Name()))
	}
}

// removeLeft removes the file where the system did not let it go while it was open.
func removeLeft(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
