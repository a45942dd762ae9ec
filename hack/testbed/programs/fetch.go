package programs

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// envtestIndex is the list of archives with etcd, kube-apiserver and kubectl that setup-envtest reads
// (controller-runtime: tools/setup-envtest).
const envtestIndex = "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml"

// answersWithin is how long the index may take to answer. Where it cannot be reached the programs are built,
// so nobody is to wait for it.
const answersWithin = 3 * time.Second

// maxArchive bounds an archive and what is unpacked of it.
const maxArchive = 1 << 30

// standard are the programs of an archive, and of KUBEBUILDER_ASSETS.
var standard = []string{"etcd", "kube-apiserver", "kubectl"}

// Prepare makes sure that the programs of a control plane are there: what KUBEBUILDER_ASSETS names and what
// was built before is taken as it is, etcd, kube-apiserver and kubectl are fetched from setup-envtest's index
// where that can be reached, and the rest is built. It says on w what it does.
func Prepare(ctx context.Context, w io.Writer) error {
	bin, err := binDir()
	if err != nil {
		return err
	}
	if assets(bin) == "" && !allExist(bin, standard) {
		dir, err := fetchedDir()
		if err != nil {
			return err
		}
		if err := fetch(ctx, w, envtestIndex, dir); err != nil {
			fmt.Fprintf(w, "etcd and kube-apiserver are built: %v\n", err)
		}
	}
	if err := UseFetched(); err != nil {
		return err
	}
	return Build(ctx, w, "etcd", "kubernetes", "metallb")
}

// UseFetched makes this process use the programs that Prepare has fetched, where none are named or built.
func UseFetched() error {
	bin, err := binDir()
	if err != nil {
		return err
	}
	dir, err := fetchedDir()
	if err != nil {
		return err
	}
	if os.Getenv("KUBEBUILDER_ASSETS") != "" || allExist(bin, standard) || !allExist(dir, standard) {
		return nil
	}
	return os.Setenv("KUBEBUILDER_ASSETS", dir)
}

func allExist(dir string, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !exists(filepath.Join(dir, name)) })
}

// fetchedDir is where fetched programs are kept, apart from those that are built at pinned versions.
func fetchedDir() (string, error) {
	cache, err := Cache()
	return filepath.Join(cache, "envtest"), err
}

// archive is one archive of the index.
type archive struct {
	Hash     string `json:"hash"`
	SelfLink string `json:"selfLink"`
}

// fetch brings the programs of the newest archive for this machine into a folder. They appear only when all
// of them are complete and the archive has the digest that the index names.
func fetch(ctx context.Context, w io.Writer, index, dir string) error {
	if allExist(dir, standard) {
		return nil
	}
	text, err := download(ctx, index, answersWithin)
	if err != nil {
		return fmt.Errorf("setup-envtest's index cannot be reached (%w)", err)
	}
	name, a, err := newest(text)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "fetching %s\n", name)
	packed, err := download(ctx, a.SelfLink, 10*time.Minute)
	if err != nil {
		return err
	}
	if sum := sha512.Sum512(packed); hex.EncodeToString(sum[:]) != a.Hash {
		return fmt.Errorf("%s has not the digest that the index names", name)
	}
	return unpack(packed, dir)
}

func download(ctx context.Context, url string, within time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, maxArchive))
}

// newest is the archive of the newest release for this machine.
func newest(index []byte) (string, archive, error) {
	var list struct {
		Releases map[string]map[string]archive `json:"releases"`
	}
	if err := yaml.Unmarshal(index, &list); err != nil {
		return "", archive{}, fmt.Errorf("setup-envtest's index: %w", err)
	}
	best := ""
	for version, archives := range list.Releases {
		_, ours := archives[archiveName(version)]
		if ours && !strings.Contains(version, "-") && (best == "" || compareVersions(version, best) > 0) {
			best = version
		}
	}
	if best == "" {
		return "", archive{}, fmt.Errorf("setup-envtest's index has nothing for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	return archiveName(best), list.Releases[best][archiveName(best)], nil
}

func archiveName(version string) string {
	return fmt.Sprintf("envtest-%s-%s-%s.tar.gz", version, runtime.GOOS, runtime.GOARCH)
}

// compareVersions orders v1.9.0 before v1.10.0.
func compareVersions(a, b string) int {
	as, bs := strings.Split(strings.TrimPrefix(a, "v"), "."), strings.Split(strings.TrimPrefix(b, "v"), ".")
	for i := range min(len(as), len(bs)) {
		x, _ := strconv.Atoi(as[i])
		y, _ := strconv.Atoi(bs[i])
		if x != y {
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(len(as), len(bs))
}

// unpack writes the programs of an archive, whatever folder of it they are in, and nothing else.
func unpack(packed []byte, dir string) error {
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh) //nolint:errcheck // a leftover folder is harmless
	files := tar.NewReader(plain)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if name := path.Base(header.Name); header.Typeflag == tar.TypeReg && slices.Contains(standard, name) {
			if err := writeProgram(filepath.Join(fresh, name), io.LimitReader(files, maxArchive)); err != nil {
				return err
			}
		}
	}
	if !allExist(fresh, standard) {
		return fmt.Errorf("the archive has not all of %s", strings.Join(standard, ", "))
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(fresh, dir)
}

func writeProgram(name string, content io.Reader) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700) //nolint:gosec // a program
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
