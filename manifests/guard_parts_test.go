package manifests_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// literal matches a variable of a policy that concatenates strings.
func literal(t *testing.T, policy, variable string) string {
	t.Helper()
	for _, o := range guard(t, config.Default(), true) {
		if o.GetKind() != "ValidatingAdmissionPolicy" || o.GetName() != policy {
			continue
		}
		for _, v := range decode[admissionv1.ValidatingAdmissionPolicy](t, o).Spec.Variables {
			if v.Name == variable {
				var text strings.Builder
				for _, piece := range regexp.MustCompile(`'[^']*'`).FindAllString(v.Expression, -1) {
					text.WriteString(strings.ReplaceAll(strings.Trim(piece, "'"), `\\`, `\`))
				}
				return text.String()
			}
		}
	}
	t.Fatalf("policy %s has no variable %s", policy, variable)
	return ""
}

// The guard accepts every part that the program writes, with any of its fields.
func TestGuardTakesWhatIsWritten(t *testing.T) {
	id := lease.ID{Owner: "akash1abc", DSeq: 17999999999999999999, GSeq: 3999999999, OSeq: 1, Provider: "akash1xyz"}
	all := state.Part{
		Key: state.RouteKey("/"), For: state.RouteKey("/"), Lease: id, LeaseText: "set", Path: "/a/b_c.d", Service: "web-1", Port: 65535,
		HTTP: &lease.HTTPOptions{
			MaxBodySize: lease.MaxBodySizeLimit, ReadTimeout: time.Minute, SendTimeout: time.Millisecond, NextTries: 3,
			NextTimeout: 4294967295 * time.Millisecond, NextCases: []string{"error", "500"},
		},
		Definition: lease.Hash("definition"), Run: "RNONCE7", Expires: "2026-11-22T04:00:00Z", From: id.Group().String(), Bound: true, Applied: true, Held: true,
	}
	part, options := regexp.MustCompile(literal(t, "akash-net-claims", "part")), regexp.MustCompile(literal(t, "akash-net-claims", "options"))
	opened := strings.NewReplacer("{}", "{}", "{", "{,")
	check := func(p state.Part) {
		claim := state.Claim{Kind: state.Host, Thing: "a.example", Owner: id.Owner}
		value := claim.Configuration("akash-net", []state.Part{p}).Annotations[p.Key]
		if !part.MatchString(opened.Replace(value)) {
			t.Errorf("the guard refuses the part %s", value)
		}
		if http := regexp.MustCompile(`"http":([{][^{}]*[}])`).FindStringSubmatch(value); http != nil && !options.MatchString(opened.Replace(http[1])) {
			t.Errorf("the guard refuses the options %s", http[1])
		}
	}
	check(all)
	for _, whole := range []any{all, *all.HTTP} {
		fields := reflect.ValueOf(whole)
		for i := range fields.NumField() {
			if fields.Field(i).IsZero() {
				t.Errorf("%T has a field %s: let this test set it, and the guard's claims.yaml know it", whole, fields.Type().Field(i).Name)
			}
		}
	}
	for i := range reflect.TypeFor[lease.HTTPOptions]().NumField() {
		less, http := all, *all.HTTP
		reflect.ValueOf(&http).Elem().Field(i).SetZero()
		less.HTTP = &http
		check(less)
	}
	for i := range reflect.TypeFor[state.Part]().NumField() {
		if name := reflect.TypeFor[state.Part]().Field(i).Name; name != "Key" && name != "Lease" {
			less := all
			reflect.ValueOf(&less).Elem().Field(i).SetZero()
			check(less)
		}
	}
	check(state.Part{Key: state.RouteKey("/"), Lease: id, HTTP: &lease.HTTPOptions{}})
}

// What reconcilers record is no claim: else the guard refuses the record, and with it what has to be recorded before.
func TestGuardTakesWhatReconcilersRecord(t *testing.T) {
	var is string
	for _, o := range guard(t, config.Default(), false) {
		if o.GetKind() != "ValidatingAdmissionPolicy" || o.GetName() != "akash-net-claims" {
			continue
		}
		for _, c := range decode[admissionv1.ValidatingAdmissionPolicy](t, o).Spec.MatchConditions {
			if c.Name == "is-no-claim" {
				is = c.Expression
			}
		}
	}
	for _, annotation := range []string{state.AnnotationFailing, state.AnnotationReleased} {
		if !strings.Contains(is, "'"+annotation+"'") {
			t.Errorf("the guard takes a Lease with the annotation %s for a claim: %s", annotation, is)
		}
	}
}
