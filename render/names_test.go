package render_test

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
)

func TestCheckNames(t *testing.T) {
	service := render.Object{Kind: kinds.Service, Namespace: "a", Name: "web-np"}
	other, ingress := service, service
	other.Namespace, ingress.Kind = "b", kinds.Ingress
	if err := render.CheckNames([]render.Object{service, other, ingress}, lease.Place{}); err != nil {
		t.Error(err)
	}
	err := render.CheckNames([]render.Object{service, ingress, service}, lease.Place{File: "f", Line: 3})
	if err == nil || !strings.Contains(err.Error(), "f:3:0: two objects of the lease would be service/web-np") {
		t.Error(err)
	}
}
