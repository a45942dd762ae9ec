package cases_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/inventory/cases"
)

const node = `{"name":"n1","cpu":{"allocatable":4000,"allocated":0},"memory":{"allocatable":8,"allocated":0},"ephemeral_storage":{"allocatable":8,"allocated":0},"gpu":{"allocatable":0,"allocated":0}}`

// line returns a case with one node and these requests.
func line(requests string) string {
	return `{"name":"c","cluster":{"nodes":[` + node + `],"storage":[]},"ip":null,"requests":[` + requests + `]}`
}

// read returns the names of all cases and the error after them.
func read(text string, size int64) (names []string, err error) {
	for c, e := range cases.Read(strings.NewReader(text), "f.jsonl", size) {
		if e != nil {
			return names, e
		}
		names = append(names, c.Name)
	}
	return names, nil
}

func TestReadLines(t *testing.T) {
	names, err := read("\n"+line("")+"\r\n  \n"+line(""), 1<<20)
	if err != nil || len(names) != 2 {
		t.Errorf("got %q, %v", names, err)
	}
}

func TestReadIsStrict(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no JSON", "{", "f.jsonl:1:1: this is no case: unexpected end of JSON input"},
		{"second line", line("") + "\n" + `{"name":x}`, "f.jsonl:2:9: this is no case: invalid character 'x'"},
		{"null", "null", "f.jsonl:1:1: cluster.nodes is missing"},
		{"a list", "[]", "f.jsonl:1:1: this is no case: json: cannot unmarshal array"},
		{"two in a line", line("") + line(""), "f.jsonl:1:258: this is no case: invalid character '{' after top-level value"},
		{"no nodes", `{"name":"c","requests":[]}`, "cluster.nodes is missing"},
		{"no requests", `{"cluster":{"nodes":[]}}`, "requests is missing"},
		{"unknown key", `{"nam":"c"}`, `unknown field "nam"`},
		{"key twice", `{"name":"a","name":"b"}`, `duplicate field "name"`},
		{"case matters", `{"Name":"c"}`, `unknown field "Name"`},
		{"fraction", line(`{"name":"g","resources":[{"id":1,"count":1.5}]}`), "cannot unmarshal number 1.5"},
		{"negative", line(`{"name":"g","resources":[{"id":1,"cpu":-1}]}`), "cannot unmarshal number -1"},
		{"over 2^64", line(`{"name":"g","resources":[{"id":1,"cpu":18446744073709551616}]}`), "cannot unmarshal number 18446744073709551616"},
		{"capacity over 2^63", strings.Replace(line(""), "4000", "9223372036854775808", 1), "cannot unmarshal number 9223372036854775808"},
		{"negative capacity", strings.Replace(line(""), "4000", "-2", 1), "cluster.nodes[0].cpu.allocatable: -2 is negative; only -1"},
		{"negative use", strings.Replace(line(""), `"allocated":0`, `"allocated":-1`, 1), "cluster.nodes[0].cpu.allocated: -1 is negative"},
		{"negative storage", strings.Replace(line(""), `"storage":[]`, `"storage":[{"class":"a","allocatable":-5,"allocated":0}]`, 1), "cluster.storage[0].allocatable: -5"},
		{"no name", strings.Replace(line(""), `"n1"`, `""`, 1), "cluster.nodes[0]: the name has 0 bytes"},
		{"kind", line(`{"name":"g","resources":[{"id":1,"endpoints":[{"kind":"IP"}]}]}`), `requests[0].resources[0].endpoints[0].kind: "IP" is no kind`},
		{"replicas", line(`{"name":"g","resources":[{"id":1,"count":60000},{"id":2,"count":60000}]}`), "requests[0].resources[1].count: the case has more than 100000 replicas"},
		{"attributes", line(`{"name":"g","resources":[{"id":1,"gpu":{"units":1,"attributes":["` + strings.Repeat(`","`, 1000) + `"]}}]}`), "attributes: there are 1001"},
		{"state", strings.Replace(line(""), `"requests"`, `"reservations":[{"state":"on","group":{"name":"g","resources":[]}}],"requests"`, 1), `reservations[0].state: "on" is no state`},
		{"reserved kind", strings.Replace(line(""), `"requests"`, `"reservations":[{"state":"pending","group":{"name":"g","resources":[{"id":1,"endpoints":[{}]}]}}],"requests"`, 1), `reservations[0].group.resources[0].endpoints[0].kind: ""`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(c.text, 1<<20)
			if _, ok := errors.AsType[lease.Problems](err); !ok || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestReadBoundsLines(t *testing.T) {
	names, err := read(line("")+"\n"+strings.Repeat(" ", 2000)+"\n", 1000)
	if len(names) != 1 || err == nil || err.Error() != "f.jsonl:2:1: the line is longer than 1000 bytes, the largest that is read" {
		t.Errorf("got %q, %v", names, err)
	}
	// The reader does not buffer an endless line.
	if _, err := read("", 1<<20); err != nil {
		t.Error(err)
	}
	for _, err := range cases.Read(endless{}, "-", 1<<20) {
		if err == nil || !strings.HasPrefix(err.Error(), "-:1:1: the line is longer") {
			t.Error(err)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '['
	}
	return len(p), nil
}

func TestReadTellsOfFaults(t *testing.T) {
	for _, err := range cases.Read(io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrClosedPipe)), "f", 100) {
		if !errors.Is(err, io.ErrClosedPipe) {
			t.Error(err)
		}
	}
}

// A case is yielded before the next one is read.
func TestReadIsLazy(t *testing.T) {
	r, w := io.Pipe()
	go func() { _, _ = w.Write([]byte(line("") + "\n")) }()
	for c, err := range cases.Read(r, "-", 1<<20) {
		if err != nil || c.Name != "c" {
			t.Error(c, err)
		}
		break
	}
}

func TestAnswer(t *testing.T) {
	text := strings.Replace(line(
		`{"name":"g","resources":[{"id":1,"count":2,"cpu":1000,"memory":1,"storage":[{"name":"d","size":2}]}]},`+
			`{"name":"g","resources":[{"id":1,"count":1,"cpu":3000}]},`+
			`{"name":"g","resources":[{"id":1,"count":1,"endpoints":[{"kind":"LEASED_IP","sequence_number":1}]}]}`),
		`"requests"`, `"reservations":[{"state":"pending","group":{"name":"g","resources":[{"id":1,"count":1,"cpu":1000}]}},{"state":"active","group":{"name":"g","resources":[]}}],"requests"`, 1)
	var got bytes.Buffer
	for c, err := range cases.Read(strings.NewReader(text), "-", 1<<20) {
		if err != nil {
			t.Fatal(err)
		}
		a := c.Answer()
		if a.Refused() != 2 {
			t.Errorf("%d are refused", a.Refused())
		}
		e := json.NewEncoder(&got)
		e.SetIndent("", " ")
		if err := e.Encode(a); err != nil {
			t.Fatal(err)
		}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, got.Bytes()); err != nil {
		t.Fatal(err)
	}
	want := `{"name":"c","existing":[{"fits":true,"placement":{"1":["n1"]}},{"fits":true,"reason":"active-not-counted"}],` +
		`"results":[{"fits":true,"placement":{"1":["n1","n1"]},"scheduler_params":{"1":null},"allocated":[{"id":1,"count":2,"cpu":1000,"memory":1,"gpu_units":0,"storage":[2]}]},` +
		`{"fits":false,"reason":"insufficient-capacity","message":"no node has 3 CPU: node n1 has 1 left","nodes":[{"node":"n1","what":"cpu","wanted":3000,"left":1000}]},` +
		`{"fits":false,"reason":"no-leased-ips","message":"1 leased address wanted, and the provider leases none","lack":{"what":"addresses","wanted":1,"left":0}}],` +
		`"after":{"nodes":[{"name":"n1","allocatable":{"cpu":4000,"gpu":0,"memory":8,"storage_ephemeral":8},"available":{"cpu":1000,"gpu":0,"memory":6,"storage_ephemeral":4}}],` +
		`"total_allocatable":{"cpu":4000,"gpu":0,"memory":8,"storage_ephemeral":8,"storage":{}},"total_available":{"cpu":1000,"gpu":0,"memory":6,"storage_ephemeral":4,"storage":{}},` +
		`"ips_reserved":0,"leased_ip":{"allocatable":"0","allocated":"0","available":"0","capacity":"0"},"pending":2,"active":1}}`
	if compact.String() != want {
		t.Errorf("got  %s\nwant %s", compact.String(), want)
	}
}

// For any input the reader returns cases or problems, and the inventory answers the cases.
func FuzzRead(f *testing.F) {
	f.Add([]byte(line(`{"name":"g","resources":[{"id":1,"count":2,"cpu":18446744073709551615,"gpu":{"units":3,"attributes":["vendor/nvidia/model/*/ram/1e9"]}}]}`)))
	f.Add([]byte(`{"commit":{"cpu":1e308,"gpu":-1},"cluster":{"nodes":[` + node + `],"storage":[{"class":"a","allocatable":-1,"allocated":1}]},"requests":[{"name":"","resources":[{"id":1,"count":9,"storage":[{"name":"v","size":9,"attributes":{"class":"a","persistent":"true"}}]}]}]}`))
	f.Add([]byte("null\n{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for c, err := range cases.Read(bytes.NewReader(data), "-", 1<<16) {
			if err != nil {
				if _, ok := errors.AsType[lease.Problems](err); !ok {
					t.Errorf("%T: %v", err, err)
				}
				continue
			}
			if a := c.Answer(); len(a.Results) != len(c.Requests) {
				t.Errorf("%d answers to %d requests", len(a.Results), len(c.Requests))
			}
		}
	})
}
