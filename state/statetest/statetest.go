// Package statetest has the leases, times, objects and configurations that tests of package state and the packages above
// it share.
package statetest

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// The tenants of the tests, and their leases.
const (
	Alice    = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	Bob      = "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn"
	Provider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
)

var (
	// Shop is a lease of Alice.
	Shop = lease.ID{Owner: Alice, DSeq: 8438017, GSeq: 1, OSeq: 1, Provider: Provider}
	// Blog is a lease of Bob.
	Blog = lease.ID{Owner: Bob, DSeq: 5905802, GSeq: 1, OSeq: 1, Provider: Provider}

	// Start is the time at which the tests begin.
	Start = time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC)
)

// Minute returns the time that many minutes after Start.
func Minute(minutes int) time.Time { return Start.Add(time.Duration(minutes) * time.Minute) }

// Meta returns the metadata of an object of a lease with Akash's labels, and labels given as key, value pairs.
func Meta(id lease.ID, namespace, name string, minutes int, labels ...string) *metav1.ObjectMeta {
	m := &metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: id.Labels(), CreationTimestamp: metav1.NewTime(Minute(minutes)),
	}
	for i := 0; i < len(labels); i += 2 {
		m.Labels[labels[i]] = labels[i+1]
	}
	return m
}

// Service returns a LoadBalancer Service as Akash's provider writes it, with the fields that MetalLB adds.
func Service(
	id lease.ID, name, endpoint, protocol string, port int64, asked string, granted ...string,
) *unstructured.Unstructured {
	annotations := map[string]any{"metallb.universe.tf/allow-shared-ip": lease.SharingKey(id.Owner, endpoint)}
	if asked != "" {
		annotations["metallb.universe.tf/loadBalancerIPs"] = asked
	}
	var ingress []any
	for _, ip := range granted {
		ingress = append(ingress, map[string]any{"ip": ip})
		annotations["metallb.io/ip-allocated-from-pool"] = "public"
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"kind":     "Service",
		"metadata": map[string]any{"annotations": annotations},
		"spec": map[string]any{
			"selector": map[string]any{lease.LabelService: "web"},
			"ports":    []any{map[string]any{"protocol": protocol, "port": port, "targetPort": port + 8000}},
		},
		"status": map[string]any{"loadBalancer": map[string]any{"ingress": ingress}},
	}}
	o.SetName(name)
	o.SetNamespace(id.Namespace())
	o.SetLabels(id.Labels())
	o.SetCreationTimestamp(metav1.NewTime(Minute(3)))
	return o
}

// Config returns a configuration with the ranges of addresses. A range that starts with "!" is excluded.
func Config(t testing.TB, mode string, ranges ...string) *config.ProviderConfig {
	t.Helper()
	cfg := config.Default()
	cfg.IP.Mode = mode
	for _, text := range ranges {
		list := &cfg.IP.Ranges.Include
		if text[0] == '!' {
			list, text = &cfg.IP.Ranges.Exclude, text[1:]
		}
		r, err := config.ParseRange(text)
		if err != nil {
			t.Fatal(err)
		}
		*list = append(*list, r)
	}
	return cfg
}

// Say prints a value for a table: of a struct the fields that are set, as Name=value, with those of embedded structs; of a
// time its minute. nil is "none".
func Say(v any) string {
	if x := reflect.Indirect(reflect.ValueOf(v)); x.Kind() == reflect.Struct && x.NumField() > 0 && x.Type().Field(0).IsExported() {
		return sayFields(x)
	}
	return say(reflect.ValueOf(v))
}

func say(v reflect.Value) string {
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return "none"
	}
	switch x := v.Interface().(type) {
	case time.Time:
		return fmt.Sprintf("minute %d", int(x.Sub(Start).Minutes()))
	case metav1.Time:
		return fmt.Sprintf("minute %d", int(x.Sub(Start).Minutes()))
	case fmt.Stringer, error, encoding.TextMarshaler:
		return fmt.Sprint(x)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return say(v.Elem())
	case reflect.Struct:
		return sayFields(v)
	case reflect.Slice:
		var said []string
		for i := range v.Len() {
			said = append(said, say(v.Index(i)))
		}
		return "[" + strings.Join(said, ", ") + "]"
	}
	return fmt.Sprint(v.Interface())
}

func sayFields(v reflect.Value) string {
	var said []string
	for i := range v.NumField() {
		switch field := v.Type().Field(i); {
		case !field.IsExported() || v.Field(i).IsZero():
		case field.Anonymous:
			said = append(said, sayFields(reflect.Indirect(v.Field(i))))
		case field.Type.Kind() == reflect.Bool:
			said = append(said, field.Name)
		default:
			text := say(v.Field(i))
			if nested := reflect.Indirect(v.Field(i)); nested.Kind() == reflect.Struct && strings.Contains(text, "=") {
				text = "{" + text + "}"
			}
			said = append(said, field.Name+"="+text)
		}
	}
	return strings.Join(said, " ")
}
