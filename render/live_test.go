package render_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/test/routegen"
)

// cluster are rendered objects as a cluster would have them.
type cluster map[string]*unstructured.Unstructured

func clusterOf(objects []render.Object) cluster {
	c := cluster{}
	for _, o := range objects {
		body, err := json.Marshal(o)
		if err != nil {
			panic(err)
		}
		u := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(body, &u.Object); err != nil {
			panic(err)
		}
		c[o.Kind.Kind+"/"+o.Name] = u
	}
	return c
}

// around is the cluster as what is read beside a route; the Services are those of the definition.
func (c cluster) around(def *lease.Definition) render.Surroundings {
	s := render.Surroundings{
		Ports: map[string][]render.ServicePort{},
		Find:  func(kind kinds.Kind, name string) *unstructured.Unstructured { return c[kind.Kind+"/"+name] },
	}
	for _, service := range def.Services {
		for _, e := range service.Expose {
			s.Ports[service.Name] = append(s.Ports[service.Name], render.ServicePort{Port: e.ExternalPort(), Container: e.Port})
		}
	}
	return s
}

// routes are the routes themselves, by name.
func (c cluster) routes() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, o := range c {
		_, _, redirect := lease.ParseRouteName(o.GetName())
		if slices.Contains([]string{"Ingress", "HTTPRoute", "TLSRoute", "Route"}, o.GetKind()) && !redirect {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int { return compareText(a.GetName(), b.GetName()) })
	return all
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// migrate reads all routes of a cluster and renders them for another target.
func (c cluster) migrate(def *lease.Definition, from, to *config.ProviderConfig) ([]render.Migrated, error) {
	around := c.around(def)
	var lives []*render.Live
	for _, o := range c.routes() {
		live, err := render.ReadRoute(o, from, around)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
		lives = append(lives, live)
	}
	return render.Migrate(lives, nil, to, around), nil
}

// objects are all new forms; the losses and refusals are told.
func objectsOf(all []render.Migrated) (objects []render.Object, told []string) {
	for _, m := range all {
		objects = append(objects, m.Objects...)
		for _, l := range m.Lost {
			told = append(told, "lost: "+l.String())
		}
		for _, r := range m.Refused {
			told = append(told, "refused: "+r)
		}
	}
	return objects, told
}

// oneTarget is what a definition says of its routes when each service has the target of the
// configuration.
func oneTarget(def *lease.Definition) *lease.Definition {
	out := *def
	out.Services = slices.Clone(def.Services)
	for i := range out.Services {
		out.Services[i].Target = ""
	}
	return &out
}

// What a target can express is read back from it whole: rendered again, it is the same, and nothing
// is lost.
func TestReadBack(t *testing.T) {
	read := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		def := oneTarget(routegen.Definition(t))
		if lease.Check(def).Failed() {
			return
		}
		for _, target := range routegen.Targets() {
			objects, err := render.Lease(def, target.Config, nil)
			if err != nil {
				continue
			}
			objects = slices.DeleteFunc(objects, func(o render.Object) bool { return o.Kind == kinds.ProviderHost })
			before := clusterOf(objects)
			migrated, err := before.migrate(def, target.Config, target.Config)
			if err != nil {
				t.Fatalf("%s: %v", target.Name, err)
			}
			again, told := objectsOf(migrated)
			if len(told) > 0 {
				t.Fatalf("%s: %v", target.Name, told)
			}
			if diff := cmp.Diff(before, clusterOf(again)); diff != "" {
				t.Fatalf("%s (-rendered +read back and rendered):\n%s", target.Name, diff)
			}
			read[target.Name] += len(objects)
		}
	})
	for _, target := range routegen.Targets() {
		if read[target.Name] == 0 {
			t.Errorf("%s: nothing was read", target.Name)
		}
	}
}

// A route that goes from an Ingress or an OpenShift Route to another kind is what apply writes of
// that kind: these two show all that was said, but for what their routers do not know by default.
func TestMigratedIsApplied(t *testing.T) {
	same := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		def := wholeSeconds(oneTarget(routegen.Definition(t)))
		if lease.Check(def).Failed() {
			return
		}
		for _, from := range routegen.Targets()[:2] {
			objects, err := render.Lease(def, from.Config, nil)
			if err != nil {
				continue
			}
			for _, to := range routegen.Targets() {
				want, err := render.Lease(def, to.Config, nil)
				if err != nil {
					continue
				}
				want = slices.DeleteFunc(want, func(o render.Object) bool { return o.Kind == kinds.ProviderHost })
				migrated, err := clusterOf(objects).migrate(def, from.Config, to.Config)
				if err != nil {
					t.Fatalf("%s to %s: %v", from.Name, to.Name, err)
				}
				got, told := objectsOf(migrated)
				if diff := cmp.Diff(clusterOf(want), clusterOf(got)); diff != "" || len(told) > 0 {
					t.Fatalf("%s to %s: %v (-applied +migrated):\n%s", from.Name, to.Name, told, diff)
				}
				same[from.Name+" to "+to.Name] += len(got)
			}
		}
	})
	t.Log(same)
	for _, want := range []string{"ingress to httproute akash", "ingress to route", "route to ingress", "route to httproute nginx-gateway-fabric"} {
		if same[want] == 0 {
			t.Errorf("nothing went from %s", want)
		}
	}
}

// wholeSeconds is the definition with what every target shows: times in seconds, which is what
// nginx's annotations have, and sessions only by a cookie that is named: OpenShift's router keeps them
// by itself, which Ingresses have to be told, and turned off they are Ingress's default.
func wholeSeconds(def *lease.Definition) *lease.Definition {
	for i := range def.Services {
		e := &def.Services[i].Expose[0]
		for _, d := range []*time.Duration{&e.HTTP.ReadTimeout, &e.HTTP.SendTimeout, &e.HTTP.NextTimeout} {
			*d = d.Truncate(time.Second)
		}
		if r := e.Routing; r != nil && r.TLS != nil && r.TLS.Issuer != nil {
			r.TLS.SecretName = "" // cert-manager writes the certificate into a Route itself
		}
		if r := e.Routing; r != nil && r.TLS != nil && r.TLS.Insecure == "" && r.TLS.Termination != lease.Passthrough {
			r.TLS.Insecure = lease.InsecureRedirect // by default, routers differ in it
		}
		if r := e.Routing; r != nil && r.Sticky != nil && (r.Sticky.Disabled || *r.Sticky == lease.Sticky{}) {
			r.Sticky = nil
		}
	}
	return def
}

// What the configuration says to external-dns it says of the new form too.
func TestMigrateAnnotatesForDNS(t *testing.T) {
	def := definition(web("shop.example.com"))
	from, to := config.Default(), config.Default()
	for _, cfg := range []*config.ProviderConfig{from, to} {
		cfg.DNS.Form, cfg.DNS.TTL, cfg.DNS.Sources = config.DNSAnnotations, 300, []string{config.FromStatus}
	}
	to.Target = config.TargetHTTPRoute
	for range 2 { // there and back
		objects, err := render.Lease(def, from, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := render.Lease(def, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		migrated, err := clusterOf(objects[1:]).migrate(def, from, to)
		if err != nil {
			t.Fatal(err)
		}
		got, told := objectsOf(migrated)
		if diff := cmp.Diff(clusterOf(want[1:]), clusterOf(got)); diff != "" || len(told) > 0 {
			t.Errorf("%v (-applied +migrated):\n%s", told, diff)
		}
		from, to = to, from
	}
}
