package programs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// packed is an archive of setup-envtest's with the programs.
func packed(t *testing.T, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	files := tar.NewWriter(compressed)
	for _, name := range names {
		content := "this is " + name
		if err := files.WriteHeader(&tar.Header{Name: "controller-tools/envtest/" + name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(files, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// indexOf serves an index with an archive as the newest of several releases.
func indexOf(t *testing.T, content []byte, hash string) string {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("/archive", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) })
	mux.HandleFunc("/index", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "releases:\n")
		for version, link := range map[string]string{"v1.9.1": "/old", "v1.36.0": "/archive", "v1.37.0-alpha.1": "/alpha"} {
			fmt.Fprintf(w, "  %s:\n    envtest-%[1]s-%s-%s.tar.gz: {hash: %s, selfLink: %q}\n", version, runtime.GOOS, runtime.GOARCH, hash, server.URL+link)
		}
		fmt.Fprintf(w, "  v1.99.0:\n    envtest-v1.99.0-plan9-mips.tar.gz: {hash: x, selfLink: x}\n")
	})
	return server.URL + "/index"
}

func digest(content []byte) string {
	sum := sha512.Sum512(content)
	return hex.EncodeToString(sum[:])
}

// The programs of the newest release are there, all of them or none.
func TestFetch(t *testing.T) {
	whole, part := packed(t, "etcd", "kube-apiserver", "kubectl", "other"), packed(t, "etcd", "kubectl")
	for name, tt := range map[string]struct{ index, want string }{
		"all":             {indexOf(t, whole, digest(whole)), ""},
		"not all":         {indexOf(t, part, digest(part)), "has not all of"},
		"a wrong digest":  {indexOf(t, whole, digest(part)), "digest"},
		"no index":        {"http://127.0.0.1:1/index", "cannot be reached"},
		"no archive":      {indexOf(t, nil, digest(nil)), "EOF"},
		"nothing for us":  {page(t, "releases: {v1.36.0: {envtest-v1.36.0-plan9-mips.tar.gz: {hash: x, selfLink: x}}}"), "has nothing for"},
		"no YAML":         {page(t, "<html>: ["), "index"},
		"an error's page": {"http://" + strings.TrimPrefix(page(t, ""), "http://") + "/none", "404"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache", "envtest")
			err := fetch(t.Context(), io.Discard, tt.index, dir)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) || exists(dir) {
					t.Errorf("error %v, want %q; the folder is there: %v", err, tt.want, exists(dir))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, program := range standard {
				info, err := os.Stat(filepath.Join(dir, program))
				if err != nil || info.Mode()&0o100 == 0 {
					t.Errorf("%s: %v, %v", program, info, err)
				}
			}
			if exists(filepath.Join(dir, "other")) {
				t.Error("more than the programs was unpacked")
			}
			if err := fetch(t.Context(), io.Discard, "http://127.0.0.1:1", dir); err != nil {
				t.Errorf("what is there is fetched again: %v", err)
			}
		})
	}
}

// page serves one page at /.
func page(t *testing.T, text string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// Packages are counted, and what the compiler says is passed on.
func TestProgress(t *testing.T) {
	var out strings.Builder
	p := &progress{out: &out, last: time.Now().Add(-time.Hour), each: time.Minute}
	for _, text := range []string{"k8s.io/a", "pi\nk8s.io/b\n# k8s.io/b\n", "b.go:1:2: undefined: x\nk8s.io/c\n"} {
		if _, err := io.WriteString(p, text); err != nil {
			t.Fatal(err)
		}
	}
	if want := "  1 packages compiled\n# k8s.io/b\nb.go:1:2: undefined: x\n"; out.String() != want || p.packages != 3 {
		t.Errorf("%d packages, printed %q", p.packages, out.String())
	}
}
