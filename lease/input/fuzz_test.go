package input_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/workload"
	"github.com/akash-net/kubectl-akash-net/test/routegen"
)

// holds is what every reader promises: no panic, and what is accepted passes the common rules and
// survives being written and read again.
func holds(t *testing.T, data []byte, opt input.Options) {
	t.Helper()
	if !opt.Workloads {
		with := opt
		with.Workloads = true
		holds(t, data, with)
	}
	_, err := input.Read(t.Context(), bytes.NewReader(data), "fuzz.yaml", opt, func(d *lease.Definition) error {
		if problems := append(lease.Check(d), workload.Check(d)...); problems.Failed() {
			t.Errorf("accepted, but Check says: %v", problems)
		}
		again := encodeAndRead(t, d)
		if again != nil && again.Hash != d.Hash {
			t.Errorf("the hash changes from %s to %s when it is written and read", d.Hash, again.Hash)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func encodeAndRead(t *testing.T, d *lease.Definition) *lease.Definition {
	t.Helper()
	data, err := json.Marshal(input.Encode(d))
	if err != nil {
		t.Fatal(err)
	}
	var again *lease.Definition
	problems, err := input.Read(t.Context(), bytes.NewReader(data), "again.json", input.Options{Workloads: d.Workloads != nil}, func(d *lease.Definition) error {
		again = d
		return nil
	})
	if err != nil || problems.Failed() || again == nil {
		t.Errorf("what was written is not read: %v %v\n%s", err, problems, data)
	}
	return again
}

func seed(f *testing.F, patterns ...string) {
	f.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no seeds in %s: %v", pattern, err)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
}

func FuzzSDL(f *testing.F) {
	seed(f, "../sdl/testdata/*.yaml")
	f.Fuzz(func(t *testing.T, data []byte) { holds(t, data, input.Options{Lease: &testLease}) })
}

func FuzzLeaseDefinition(f *testing.F) {
	seed(f, "testdata/*.yaml")
	f.Fuzz(func(t *testing.T, data []byte) { holds(t, data, input.Options{}) })
}

func FuzzManifest(f *testing.F) {
	seed(f, "../sdl/testdata/*.json", "../sdl/testdata/manifest-object.yaml")
	f.Fuzz(func(t *testing.T, data []byte) {
		holds(t, data, input.Options{Lease: &testLease})
		holds(t, data, input.Options{})
		if def, problems := input.ManifestObject("x", data, input.Options{}); (def == nil) != problems.Failed() {
			t.Errorf("definition %v with problems %v", def, problems)
		}
	})
}

var testLease = lease.ID{
	Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 8438017, GSeq: 1, OSeq: 1,
	Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0",
}

// withoutPlaces compares what definitions say.
var withoutPlaces = cmp.Options{
	cmpopts.IgnoreTypes(lease.Place{}, &lease.HTTPPlaces{}),
	cmpopts.EquateEmpty(),
	cmpopts.EquateComparable(netip.Addr{}),
}

// Written and read again a definition is the same, whatever it says of its routes and addresses.
func TestEncodeAndReadIsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		def := routegen.Definition(rt)
		for i := range rapid.IntRange(0, 2).Draw(rt, "endpoints") {
			e := lease.IPEndpoint{Name: fmt.Sprintf("my_ip%d", i)}
			if rapid.Bool().Draw(rt, "address") {
				e.Addresses = []netip.Addr{netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}), netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 15: byte(i)})}
			}
			def.IPEndpoints = append(def.IPEndpoints, e)
			def.Services[0].Expose = append(def.Services[0].Expose, lease.Expose{
				Port: rapid.Uint16Range(1, 65535).Draw(rt, "port"), As: uint16(1000 + i), Global: true, IP: e.Name,
				Protocol: rapid.SampledFrom([]lease.Protocol{lease.TCP, lease.UDP}).Draw(rt, "protocol"),
			})
		}
		def.Name, def.Lease.DSeq = "x", rapid.Uint64Min(1).Draw(rt, "dseq")
		if problems := lease.Check(def); problems.Failed() {
			rt.Fatal(problems)
		}
		def.Hash = lease.Sum(def)
		if diff := cmp.Diff(def, encodeAndRead(t, def), withoutPlaces); diff != "" {
			rt.Fatalf("written and read again it differs:\n%s", diff)
		}
	})
}
