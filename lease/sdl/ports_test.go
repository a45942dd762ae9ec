package sdl_test

import (
	"fmt"
	"strings"
	"testing"
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
