package lease_test

import (
	"reflect"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// set gives a field the smallest value that is not zero.
func set(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("k"), reflect.ValueOf("v"))
	case reflect.Struct:
		set(t, v.Field(0))
	case reflect.Uint32:
		v.SetUint(1)
	case reflect.Int64:
		v.SetInt(1)
	default:
		t.Fatalf("no value for a %s", v.Type())
	}
}

// A field that OrNil forgot would be lost by Check, and by the migration of a route.
func TestARoutingWithAnyFieldIsKept(t *testing.T) {
	if (&lease.Routing{At: lease.RoutingPlaces{TLS: lease.Place{Line: 1}}}).OrNil() != nil {
		t.Error("positions alone are kept")
	}
	fields := reflect.TypeFor[lease.Routing]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		if name == "At" {
			continue
		}
		r := &lease.Routing{}
		set(t, reflect.ValueOf(r).Elem().Field(i))
		if r.OrNil() != r {
			t.Errorf("a routing with nothing but %s is dropped", name)
		}
	}
}

// Check drops HTTP options that equal Akash's defaults, and no others.
func TestOptionsAreDroppedOnlyIfTheyEqualADefault(t *testing.T) {
	defaults := lease.HTTPOptions{}.WithDefaults()
	if got := defaults.WithoutDefaults(); !reflect.DeepEqual(got, lease.HTTPOptions{}) {
		t.Errorf("the defaults become %+v", got)
	}
	fields := reflect.TypeFor[lease.HTTPOptions]()
	for i := range fields.NumField() {
		o := lease.HTTPOptions{}
		set(t, reflect.ValueOf(&o).Elem().Field(i))
		if got := o.WithoutDefaults(); !reflect.DeepEqual(got, o) {
			t.Errorf("%s: %+v becomes %+v", fields.Field(i).Name, o, got)
		}
		filled := o.WithDefaults()
		if !reflect.DeepEqual(reflect.ValueOf(filled).Field(i).Interface(), reflect.ValueOf(o).Field(i).Interface()) {
			t.Errorf("%s is overwritten by a default: %+v", fields.Field(i).Name, filled)
		}
		e := lease.Expose{HTTP: o}
		if e.Options() == nil {
			t.Errorf("an expose with nothing but %s has no options", fields.Field(i).Name)
		}
	}
}
