package sdl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

// A port outside that is written is told from one that is not: Akash's manifest repeats it, also where it is the port.
func TestPortOutside(t *testing.T) {
	manifest := func(port string) string {
		return `[{"name":"dc","services":[{"name":"web","image":"a","count":1,"resources":{"id":1,"cpu":{"units":{"val":"100"}},"memory":{"size":{"val":"536870912"}}},"expose":[{` + port + `,"global":true}]}]}]`
	}
	for text, want := range map[string]string{
		with(t, "port: 80", "port: 81"):                        "81 as 0 said false",
		with(t, "port: 80", "port: 81\n        as: 80"):        "81 as 80 said false",
		with(t, "port: 80", "port: 80\n        as: 80"):        "80 as 0 said true",
		with(t, "port: 80", "port: 80\n        as: 0"):         "80 as 0 said false",
		with(t, "port: 80", "port: 80\n        as: '0'"):       "80 as 0 said false",
		with(t, "port: 80", "port: 80\n        as: ~"):         "80 as 0 said false",
		with(t, "port: 80", "port: 65535\n        as: 0xFFFF"): "65535 as 0 said true",
		manifest(`"port":81`):                                  "81 as 0 said false",
		manifest(`"port":81,"externalPort":80`):                "81 as 80 said false",
		manifest(`"port":80,"externalPort":80`):                "80 as 0 said true",
		manifest(`"port":80,"externalPort":0`):                 "80 as 0 said false",
		manifest(`"port":80,"externalPort":null`):              "80 as 0 said false",
	} {
		def, problems := readWorkloads(t, text)
		if def == nil {
			t.Errorf("%s: %v", text, problems)
			continue
		}
		e := def.Services[0].Expose[0]
		if got := fmt.Sprintf("%d as %d said %t", e.Port, e.As, e.SaysAs); got != want {
			t.Errorf("%s:\n%s, want %s", text, got, want)
		}
	}
}

// A deployment may have any number of groups, as with Akash. Each has all ports of its services, so a short SDL can have
// very many: those are bounded.
func TestGroupsOfADeployment(t *testing.T) {
	for n, want := range map[int]string{1: "", 25: "", 5_000: "", 5_001: "the groups have 100020 ports in all; of more than one group 100000 are read"} {
		places, runs := "", ""
		for i := range n {
			places += fmt.Sprintf("p%d: {pricing: {}}, ", i)
			runs += fmt.Sprintf("p%d: {profile: web, count: 1}, ", i)
		}
		text := with(t, "        accept: [a.example.com]\n", "", "dc: {pricing: {web: {denom: uakt, amount: 1}}}", "{"+places+"}", "{dc: {profile: web, count: 1}}", "{"+runs+"}")
		text = strings.Replace(text, "placement:\n    {", "placement: {", 1)
		if n >= 5_000 {
			text = strings.Replace(text, "expose:\n", "expose:\n"+strings.Repeat("      - {port: 81}\n", 19), 1)
		}
		_, problems := readWorkloads(t, text)
		if got := problems.Error(); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%d groups: %q, want %q", n, got, want)
		}
		want = ""
		def, said := read(t, text, id(uint32(n))) // without workloads the ports that nobody reaches from outside are not counted
		if !strings.Contains(said, want) || (def == "") != (want != "") {
			t.Errorf("%d groups, without workloads: %q, want %q", n, said, want)
		}
	}
}

// A service may be deployed to several placements: each group has its own lease, and what one names is not the other's.
func TestOneServiceInTwoPlacements(t *testing.T) {
	both := []string{
		"dc: {pricing: {web: {denom: uakt, amount: 1}}}", "dc: {pricing: {}}\n    west: {pricing: {}}",
		"{dc: {profile: web, count: 1}}", "{west: {profile: web, count: 2}, dc: {profile: web, count: 1}}",
	}
	_, said := read(t, with(t, both...), id(1))
	if want := `host "a.example.com" is named twice`; !strings.Contains(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
	text := with(t, append(both, "        accept: [a.example.com]\n", "")...)
	for gseq := uint32(1); gseq <= 2; gseq++ {
		def, said := read(t, text, id(gseq))
		if said != "" || !strings.Contains(def, fmt.Sprintf(`"gseq": %d`, gseq)) {
			t.Errorf("group %d: %s %s", gseq, def, said)
		}
	}
	if def, said := read(t, text, id(3)); def != "" || !strings.Contains(said, "there is no group with gseq 3; the SDL has 2") {
		t.Errorf("a third group is read: %s %s", def, said)
	}
	// An endpoint's address is the owner's: a port of it is there once for both.
	endpoint := with(t, append(both, "        accept: [a.example.com]\n", "", "{global: true}", "{global: true, ip: pub}", "services:", "endpoints: {pub: {kind: ip}}\nservices:")...)
	if _, said := read(t, endpoint, id(1)); !strings.Contains(said, `port 80/TCP of IP endpoint "pub" is claimed twice, by service "web" and service "web"`) {
		t.Errorf("two leases have one port: %q", said)
	}
}

// Of many ports, those that the order of the manifest does not tell apart stand where Akash's library leaves them: their
// positions are in the names of the ports of the Kubernetes Service. The wanted order is that of the library.
func TestManyPortsAlike(t *testing.T) {
	var list strings.Builder
	for i := range 30 {
		fmt.Fprintf(&list, "      - {port: %d, as: %d, to: [{global: true}]}\n", 80+i%3, 9000-i)
	}
	def, problems := readWorkloads(t, with(t, "      - port: 80\n        accept: [a.example.com]\n        to: [{global: true}]\n", list.String()))
	if def == nil {
		t.Fatal(problems)
	}
	var got []string
	for _, e := range def.Ports("web") {
		got = append(got, fmt.Sprint(e.ExternalPort()))
	}
	const want = "8988 8973 8976 8997 8979 8982 8994 9000 8985 8991 8993 8996 8990 8987 8972 8999 8984 8975 8978 8981 8992 8980 8995 8977 8998 8983 8974 8989 8986 8971"
	if strings.Join(got, " ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, " "), want)
	}
}

// with is the SDL with parts replaced: each is followed by what stands there instead.
func with(t *testing.T, parts ...string) string {
	t.Helper()
	text := sdl
	for i := 0; i < len(parts); i += 2 {
		if !strings.Contains(text, parts[i]) {
			t.Fatalf("%q is not in the SDL", parts[i])
		}
		text = strings.Replace(text, parts[i], parts[i+1], 1)
	}
	return text
}

// readWorkloads reads a document with what its services run; of an SDL or a manifest the first group.
func readWorkloads(t *testing.T, text string) (*lease.Definition, lease.Problems) {
	t.Helper()
	of := id(1)
	if strings.Contains(text, "apiVersion") {
		of = nil
	}
	var def *lease.Definition
	problems, err := input.Read(t.Context(), strings.NewReader(text), "", input.Options{Lease: of, Workloads: true}, func(d *lease.Definition) error {
		def = d
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return def, problems
}

// volumesOf are the names of the volumes of an SDL's service, in the order of Akash's manifest.
func volumesOf(t *testing.T, storage string, mounts ...string) string {
	t.Helper()
	params := ""
	for _, name := range mounts {
		params += name + ": {mount: /" + name + "}, "
	}
	def, problems := readWorkloads(t, with(t, "storage: {size: 1Gi}", "storage: ["+storage+"]", "image: nginx", "image: nginx\n    params: {storage: {"+params+"}}"))
	if def == nil {
		t.Fatalf("%s: %v", storage, problems)
	}
	var names []string
	for _, v := range def.Workloads.Services[0].Resources.Volumes {
		names = append(names, v.Name)
	}
	return strings.Join(names, " ")
}

// The order of volumes is that of Akash's library; builders walk through them in it.
func TestOrderOfVolumes(t *testing.T) {
	lasting := func(name, size string) string {
		return fmt.Sprintf("{name: %s, size: %s, attributes: {persistent: true, class: beta2}}", name, size)
	}
	for _, c := range []struct {
		storage string
		mounts  []string
		want    string
	}{
		{"{name: a, size: 2Gi}, {name: b, size: 1Gi}, {name: c, size: 1.5Gi}", nil, "b c a"},
		{"{name: a, size: 1Gi}, {name: b, size: 1024Mi}, {name: c, size: 1048576Ki}", nil, "c b a"},
		{"{name: a, size: 1Gi, attributes: {persistent: false}}, {name: b, size: 1Gi}", nil, "b a"},
		{"{name: a, size: 1Gi, attributes: {class: ram}}, {name: b, size: 1Gi, attributes: {class: ram}}", nil, "b a"},
		// Of volumes of one size those that last come last, by name.
		{lasting("b", "1Gi") + ", " + lasting("a", "1Gi") + ", {name: c, size: 1Gi}", []string{"a", "b"}, "c a b"},
		{lasting("b", "1Gi") + ", {name: c, size: 1Gi, attributes: {class: ram}}, " + lasting("a", "1Gi"), []string{"a", "b"}, "c a b"},
		// The size counts before the name.
		{lasting("a", "2Gi") + ", " + lasting("b", "1Gi"), []string{"a", "b"}, "b a"},
		{lasting("a", "1Gi") + ", {name: b, size: 2Gi}", []string{"a"}, "a b"},
	} {
		if got := volumesOf(t, c.storage, c.mounts...); got != c.want {
			t.Errorf("%s: %s, want %s", c.storage, got, c.want)
		}
	}
}

// Volumes that last come out the same however they are written down, and no volume gets lost.
func TestLastingVolumesHaveOneOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var items, names []string
		for i := range rapid.IntRange(1, 6).Draw(rt, "volumes") {
			names = append(names, fmt.Sprintf("v%d", i))
			items = append(items, fmt.Sprintf("{name: v%d, size: %dGi, attributes: {persistent: true, class: beta3}}", i, rapid.IntRange(1, 2).Draw(rt, "size")))
		}
		first := volumesOf(t, strings.Join(items, ", "), names...)
		again := volumesOf(t, strings.Join(rapid.Permutation(items).Draw(rt, "order"), ", "), names...)
		if got := strings.Fields(first); first != again || len(got) != len(names) || !slices.Equal(slices.Sorted(slices.Values(got)), names) {
			rt.Fatalf("%s, and in another order %s", first, again)
		}
	})
}

// secretPlaces are documents with a password, or a variable of the environment, in the place of SECRET.
var secretPlaces = map[string]string{
	"password of an SDL":             strings.Replace(sdl, "image: nginx", "image: nginx\n    credentials: {host: ghcr.io, username: bob, password: SECRET}", 1),
	"password of an SDL, in lines":   strings.Replace(sdl, "image: nginx", "image: nginx\n    credentials:\n      host: ghcr.io\n      password: SECRET\n      username: bob", 1),
	"variable of an SDL":             strings.Replace(sdl, "image: nginx", "image: nginx\n    env: [A=SECRET, B=c]", 1),
	"variable of an SDL, in lines":   strings.Replace(sdl, "image: nginx", "image: nginx\n    env:\n    - A=SECRET\n    - B=c", 1),
	"environment that is no list":    strings.Replace(sdl, "image: nginx", "image: nginx\n    env: SECRET", 1),
	"environment that is a mapping":  strings.Replace(sdl, "image: nginx", "image: nginx\n    env: {A: SECRET}", 1),
	"environment of mappings":        strings.Replace(sdl, "image: nginx", "image: nginx\n    env: [{A: SECRET}, [SECRET]]", 1),
	"variable of a LeaseDefinition":  secretDefinition("env: [A=SECRET]"),
	"environment of one, no list":    secretDefinition("env: SECRET"),
	"password of a LeaseDefinition":  secretDefinition("credentials: {host: a, username: b, password: SECRET}"),
	"password that is a list of one": secretDefinition("credentials: {host: a, username: b, password: [SECRET]}"),
	"password of a manifest":         `[{"name":"dc","services":[{"name":"web","image":"a","credentials":{"host":"a","username":"b","password":SECRET},"expose":[{"port":80,"global":true}]}]}]`,
	"variable of a manifest":         `[{"name":"dc","services":[{"name":"web","image":"a","env":[SECRET],"expose":[{"port":80,"global":true}]}]}]`,
	"environment of one, a text":     `[{"name":"dc","services":[{"name":"web","image":"a","env":SECRET,"expose":[{"port":80,"global":true}]}]}]`,
	"credentials that are a text":    strings.Replace(sdl, "image: nginx", "image: nginx\n    credentials: SECRET", 1),
}

func secretDefinition(workload string) string {
	return `{apiVersion: net.akash.network/v1alpha1, kind: LeaseDefinition, metadata: {name: a}, spec: {
lease: {owner: akash1xqnd68gm, dseq: 1, gseq: 1, oseq: 1, provider: akash1yqd7y67h},
services: [{name: web, expose: [{port: 80}], workload: {image: a, resources: {cpu: 1, memory: 1Gi}, ` + workload + `}}]}}`
}

// No message repeats a password or the value of a variable, however it is mistyped: with each sign of YAML before or
// behind it, with each tag, quoted or not.
func TestNoMessageRepeatsASecret(t *testing.T) {
	const secret = "hunter2"
	before := []string{"", "!!int ", "!!bool ", "!!float ", "!!null ", "!!timestamp ", "!!binary ", "!!str ", "!own ", "&a ", "<<: ", "- ", "? ", "\\"}
	behind := []string{"", ": ", " #", "\\", ",,", "\t", "'", `"`, "}", "]"}
	for sign := '!'; sign <= '~'; sign++ {
		if !unicode.IsLetter(sign) && !unicode.IsDigit(sign) && sign != ',' { // behind a comma it would be a key
			before = append(before, string(sign))
		}
	}
	var signs [][2]string
	for _, b := range before {
		signs = append(signs, [2]string{b, ""})
	}
	for _, e := range behind {
		signs = append(signs, [2]string{"", e}, [2]string{"!!int ", e})
	}
	told := 0
	for place, document := range secretPlaces {
		for _, sign := range signs {
			for _, quote := range []string{"", `"`} {
				text := sign[0] + quote + secret + quote + sign[1]
				_, problems := readWorkloads(t, strings.ReplaceAll(document, "SECRET", text))
				for _, p := range problems {
					told++
					if strings.Contains(p.Error(), secret) {
						t.Errorf("%s, %q: %s", place, text, p.Error())
					}
				}
			}
		}
	}
	if told < 500 {
		t.Errorf("only %d problems were told", told)
	}
}
