package sdl_test

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

var update = flag.Bool("update", false, "write the golden files")

func id(gseq uint32) *lease.ID {
	return &lease.ID{
		Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 8438017, GSeq: gseq, OSeq: 1,
		Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0",
	}
}

// read gives what was read as a LeaseDefinition, and the problems.
func read(t *testing.T, text string, of *lease.ID) (string, string) {
	t.Helper()
	out := ""
	problems, err := input.Read(t.Context(), strings.NewReader(text), "sdl.yaml", input.Options{Lease: of}, func(d *lease.Definition) error {
		data, err := json.MarshalIndent(input.Encode(d), "", "  ")
		out += string(data) + "\n"
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, problems.Error()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-update writes it):\n%s", name, diff)
	}
}

func TestGolden(t *testing.T) {
	for name, c := range map[string]struct {
		file  string
		lease *lease.ID
	}{
		"shop-1": {"shop.yaml", id(1)}, "shop-2": {"shop.yaml", id(2)}, "shop-3": {"shop.yaml", id(3)},
		"broken": {"broken.yaml", id(1)}, "manifest": {"manifest.json", id(1)}, "manifest-object": {"manifest-object.yaml", nil},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/" + c.file)
			if err != nil {
				t.Fatal(err)
			}
			def, problems := read(t, string(text), c.lease)
			golden(t, "testdata/"+name+".golden", def+problems+"\n")
		})
	}
}

// sdl is an SDL whose parts a test replaces.
const sdl = `version: "2.0"
services:
  web:
    image: nginx
    expose:
      - port: 80
        accept: [a.example.com]
        to: [{global: true}]
profiles:
  compute:
    web:
      resources:
        cpu: {units: 100m}
        memory: {size: 512Mi}
        storage: {size: 1Gi}
  placement:
    dc: {pricing: {web: {denom: uakt, amount: 1}}}
deployment:
  web: {dc: {profile: web, count: 1}}
`

// TestAcceptance replaces one part of a good SDL. An empty want means that it is accepted without
// a problem; "warning: " that it is accepted with that one.
func TestAcceptance(t *testing.T) {
	const ip = "endpoints: {pub: {kind: ip}}\ndeployment:"
	for name, c := range map[string]struct{ replace, want string }{
		"as it is":               {"", ""},
		"version 2":              {`"2.0"=>2`, ""},
		"version v2.1.0":         {`"2.0"=>v2.1.0`, ""},
		"version 3.0":            {`"2.0"=>"3.0"`, ""},
		"version 2.0.1":          {`"2.0"=>2.0.1`, "unsupported version"},
		"version 2.1.0-rc1":      {`"2.0"=>2.1.0-rc1`, "unsupported version"},
		"version two":            {`"2.0"=>two`, "is not a version"},
		"reclamation":            {"profiles:=>reclamation: {min_window: 1h}\nprofiles:", ""},
		"unknown top key":        {"profiles:=>x: 1\nprofiles:", `unknown key "x"`},
		"unknown nested key":     {"image:=>imagE2: x\n    image:", "warning: unknown key"},
		"quoted port":            {"port: 80=>port: \"80\"", `"80" is a text, not a number; write 80`},
		"hexadecimal port":       {"port: 80=>port: 0x50", ""},
		"no port":                {"port: 80=>as: 80", `"port" is missing`},
		"as 0":                   {"port: 80=>port: 80\n        as: 0", ""},
		"proto in any case":      {"port: 80=>port: 80\n        proto: Udp", ""},
		"upper-case host":        {"a.example=>A.example", "is not lower case"},
		"IPv4 host":              {"a.example.com=>10.0.0.1", "is an IP address"},
		"long label":             {"a.example.com=>" + strings.Repeat("a", 64) + ".com", "label of 64 characters"},
		"reserved host":          {"a.example.com=>wc--any.example.com", "is reserved"},
		"host twice":             {"[a.example.com]=>[a.example.com, a.example.com]", "named twice"},
		"accept with two to":     {"[{global: true}]=>[{global: true}, {service: web}]", "named twice"},
		"no such placement":      {"web: {dc: {profile=>web: {d2: {profile", `no placement profile named "d2"`},
		"in two placements":      {"dc: {p=>dc: &dc {p\nx=>", ""},
		"global yes":             {"global: true=>global: yes", ""},
		"not global":             {"global: true=>global: false", "no service is exposed globally"},
		"no to":                  {"        to: [{global: true}]\n=>", "no service is exposed globally"},
		"body":                   {"to: [=>http_options: {max_body_size: 104857601}\n        to: [", "greater than 104857600"},
		"timeout":                {"to: [=>http_options: {read_timeout: 60001}\n        to: [", "read timeout 1m0.001s is longer than 1m0s"},
		"next timeout":           {"to: [=>http_options: {next_timeout: 600000}\n        to: [", ""},
		"off alone":              {"to: [=>http_options: {next_cases: [off]}\n        to: [", ""},
		"off and more":           {"to: [=>http_options: {next_cases: [off, 500]}\n        to: [", "there may be no other case"},
		"unknown case":           {"to: [=>http_options: {next_cases: [418]}\n        to: [", `next case "418" is unknown`},
		"proxy buffer":           {"to: [=>http_options: {proxy_buffer_size: 4096}\n        to: [", "warning: \"proxy_buffer_size\" is ignored"},
		"big proxy buffer":       {"to: [=>http_options: {proxy_buffer_size: 1048577}\n        to: [", "greater than 1048576"},
		"cpu fraction":           {"100m=>0.5", ""},
		"cpu too small":          {"100m=>0", "less than 10m"},
		"cpu malformed":          {"100m=>100x", "is not a number of CPUs"},
		"cpu unknown key":        {"units: 100m=>units: 100m, unit: 1", `unknown key "unit"`},
		"memory decimal":         {"512Mi=>512M", ""},
		"memory malformed":       {"512Mi=>512Mb", `is not a size such as 512Mi; write "512M" or "512Mi"`},
		"memory in mebibytes":    {"512Mi=>512", `the memory size is less than 1Mi, the least that Akash accepts; write "512Mi"`},
		"storage in mebibytes":   {"1Gi=>16k", `the storage size is less than 5Mi, the least that Akash accepts; write "16Mi"`},
		"memory infinite":        {"512Mi=>inf", "is not a size"},
		"storage negative":       {"1Gi=>-1Gi", "is negative"},
		"gpu malformed":          {"cpu: {=>gpu: {units: -1}\n        cpu: {", "is negative"},
		"no memory":              {"        memory: {size: 512Mi}\n=>", "the memory size is missing"},
		"count 0":                {"count: 1=>count: 0", "0 is not a count"},
		"profile":                {"profile: web=>profile: wep", `no compute profile named "wep"; did you mean "web"?`},
		"service name":           {"web:=>web-:\nx=>", "is not a service name"},
		"endpoint unused":        {"deployment:=>" + ip, `endpoint "pub" is declared but never used`},
		"ip_name":                {"{global: true}=>{global: true, ip_name: public}", "warning: \"ip_name\" is not part of the SDL"},
		"ip_name of one letter":  {"{global: true}=>{global: true, ip_name: p}", "is not an endpoint name"},
		"unknown endpoint":       {"{global: true}=>{global: true, ip: pub}", `no endpoint named "pub"`},
		"undeployed, bad port":   {"profiles:=>  old: {expose: [{port: 99999, as: x}]}\nprofiles:", "is not a port"},
		"undeployed, large port": {"profiles:=>  old: {expose: [{port: 99999}]}\nprofiles:", "warning: service \"old\" is not in the deployment"},
		"merge":                  {"{global: true}=>{<<: {global: true}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := sdl
			old, replacement, _ := strings.Cut(strings.TrimSuffix(c.replace, "\nx=>"), "=>")
			if old != "" {
				if !strings.Contains(text, old) {
					t.Fatalf("%q is not in the SDL", old)
				}
				n := 1
				if strings.HasSuffix(c.replace, "\nx=>") {
					n = -1
				}
				text = strings.Replace(text, old, replacement, n)
			}
			def, problems := read(t, text, id(1))
			want, warning := strings.CutPrefix(c.want, "warning: ")
			if accepted := def != ""; accepted != (warning || want == "") {
				t.Errorf("accepted: %v, problems: %s", accepted, problems)
			}
			if !strings.Contains(problems, want) || want == "" && problems != "" {
				t.Errorf("problems:\n%s\nwant %q", problems, want)
			}
		})
	}
}

// TestIPPorts has the collisions of ports on one IP: Akash's false ones are accepted, its missed
// ones are found.
func TestIPPorts(t *testing.T) {
	const head = "endpoints: {pub: {kind: ip}}\n"
	for name, c := range map[string]struct{ exposes, want string }{
		"two ports without as": {"[{port: 80, to: [{global: true, ip: pub}]}, {port: 81, to: [{global: true, ip: pub}]}]", ""},
		"tcp and udp":          {"[{port: 53, to: [{global: true, ip: pub}]}, {port: 53, proto: udp, to: [{global: true, ip: pub}]}]", ""},
		"as and port":          {"[{port: 80, to: [{global: true, ip: pub}]}, {port: 81, as: 80, to: [{global: true, ip: pub}]}]", "port 80/TCP of IP endpoint \"pub\" is claimed twice"},
		"not global":           {"[{port: 80, to: [{ip: pub}]}, {port: 81, to: [{global: true}]}]", "must be global"},
	} {
		t.Run(name, func(t *testing.T) {
			start, end := strings.Index(sdl, "    expose:"), strings.Index(sdl, "profiles:")
			text := head + sdl[:start] + "    expose: " + c.exposes + "\n" + sdl[end:]
			_, problems := read(t, text, id(1))
			if !strings.Contains(problems, c.want) || c.want == "" && problems != "" {
				t.Errorf("problems:\n%s\nwant %q", problems, c.want)
			}
		})
	}
	long := strings.Replace(strings.ReplaceAll(sdl, "web:", strings.Repeat("w", 56)+":"), "{global: true}", "{global: true, ip: pub}", 1)
	long = strings.ReplaceAll(long, "profile: web", "profile: "+strings.Repeat("w", 56))
	if _, problems := read(t, head+long, id(1)); !strings.Contains(problems, "would be named") {
		t.Errorf("a Service's name of %d characters is accepted: %s", 56+len("-ip-80-tcp"), problems)
	}
}
