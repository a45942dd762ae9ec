package documents

import (
	"bytes"
	"io"
	"os"
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
