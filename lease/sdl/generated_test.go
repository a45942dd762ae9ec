package sdl_test

import (
	"fmt"
	"strings"
	"testing"
)

// No service of the lease has the name of a Service that is made for a leased port, also not one that is reached from inside
// only, or that exposes nothing, and whether workloads are read or not: the two Services would be one object.
func TestNoServiceIsNamedAsAGeneratedOne(t *testing.T) {
	const inside = "port: 5432\n        to: [{service: web}]"
	inSDL := func(name, expose string) string {
		service := "\n  " + name + ":\n    image: postgres\n"
		if expose != "" {
			service += "    expose:\n      - " + expose + "\n"
		}
		return with(t, "port: 80\n        accept: [a.example.com]\n        to: [{global: true}]\n", "port: 443\n        to: [{global: true, ip: pub}]"+service,
			"deployment:\n", "endpoints: {pub: {kind: ip}}\ndeployment:\n  "+name+": {dc: {profile: web, count: 1}}\n")
	}
	inManifest := func(name, expose string) string {
		const resources = `"image":"a","count":1,"resources":{"id":1,"cpu":{"units":{"val":"100"}},"memory":{"size":{"val":"536870912"}}}`
		return fmt.Sprintf(`[{"name":"dc","services":[{"name":%q,%s,"expose":[%s]},{"name":"web",%s,"expose":[{"port":443,"global":true,"ip":"pub","endpointSequenceNumber":1}]}]}]`,
			name, resources, expose, resources)
	}
	const insideManifest = `{"port":5432,"service":"web"}`
	for name, c := range map[string]struct{ text, place string }{
		"SDL, inside":        {inSDL("web-ip-443-tcp", inside), "services.web.expose[0].to[0].ip: "},
		"SDL, no port":       {inSDL("web-ip-443-tcp", ""), "services.web.expose[0].to[0].ip: "},
		"SDL, other port":    {inSDL("web-ip-80-tcp", inside), ""},
		"manifest, inside":   {inManifest("web-ip-443-tcp", insideManifest), "[0].services[1].expose[0].ip: "},
		"manifest, no port":  {inManifest("web-ip-443-tcp", ""), "[0].services[1].expose[0].ip: "},
		"manifest, protocol": {inManifest("web-ip-443-udp", insideManifest), ""},
	} {
		want := ""
		if c.place != "" {
			want = c.place + `the Service would be named "web-ip-443-tcp", and so is a service of the lease: one of the two needs another name`
		}
		def, said := read(t, c.text, id(1))
		if !strings.Contains(said, want) || want == "" && said != "" || (def == "") != (want != "") || want == "" && strings.Contains(def, "5432") {
			t.Errorf("%s:\n%s%s\nwant %s", name, def, said, want)
		}
		running, problems := readWorkloads(t, c.text)
		if said := problems.Error(); !strings.Contains(said, want) || want == "" && said != "" || (running == nil) != (want != "") {
			t.Errorf("%s, with workloads: %q\nwant %s", name, said, want)
		}
	}
}
