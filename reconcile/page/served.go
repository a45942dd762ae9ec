package page

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akash-net/kubectl-akash-net/state/view"
)

// HostRow is a host or a path of it.
type HostRow struct {
	ID, Name string
	// URL is where clients reach it, empty if it is not served or is no name of a host.
	URL                             string
	Lease                           Tenant
	Backend, Routed, State, Message string
	Answers                         Answers
	Unclaimed                       bool
	Since                           time.Time
	Expires                         string
}

func hostRow(r *view.HostRow) HostRow {
	out := HostRow{
		ID: "host/" + r.Host + r.Path, Name: r.Host + r.Path, Lease: tenantOf(r.Tenant), Backend: backend(r.Service, r.Port), Answers: answers(r.Endpoints), Routed: routed(r),
		State: r.State, Message: clip(r.Message), Unclaimed: !r.Claimed, Since: r.Since.Time, Expires: r.Expires,
	}
	if r.Routed && len(validation.IsDNS1123Subdomain(r.Host)) == 0 && strings.Contains(r.Host, ".") {
		out.URL = (&url.URL{Scheme: "http", Host: r.Host, Path: r.Path}).String()
	}
	return out
}

// routed returns the kind of the route that leads the host to its Service, "no" for one that does not, empty where there is none.
func routed(r *view.HostRow) string {
	if r.Target != "" && !r.Routed && r.State != view.StateTransferring {
		return "no"
	}
	return r.Target
}

func backend(service string, port uint16) string {
	if service == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", clip(service), port)
}

// Answers says what answers behind a Service: how many of its endpoints are ready. The zero value is for what is not known.
type Answers struct {
	Text   string
	Silent bool
}

func answers(e *view.Endpoints) Answers {
	switch {
	case e == nil:
		return Answers{}
	case e.Missing != "":
		return Answers{"no " + e.Missing, true}
	}
	return Answers{fmt.Sprintf("%d/%d ready", e.Ready, e.Total), e.Ready == 0}
}

// AddressRow is a port of a leased address.
type AddressRow struct {
	ID, Address, Port                      string
	Lease                                  Tenant
	Backend, Pool, State, Message, Expires string
	Answers                                Answers
	Unclaimed                              bool
	Since                                  time.Time
}

func addressRow(r *view.IPRow) AddressRow {
	out := AddressRow{
		ID: "address/" + addressText(r), Address: addressText(r), Port: portText(r), Lease: tenantOf(r.Tenant), Backend: backend(r.Service, r.ContainerPort), Answers: answers(r.Endpoints),
		Pool: r.Pool, State: r.State, Message: clip(r.Message), Unclaimed: !r.Claimed, Since: r.Since.Time, Expires: r.Expires,
	}
	if !r.Address.IsValid() {
		out.ID = "endpoint/" + clip(r.SharingKey)
	}
	return out
}

func addressText(r *view.IPRow) string {
	if r.Address.IsValid() {
		return r.Address.String()
	}
	return "none yet"
}

func portText(r *view.IPRow) string {
	if r.Port == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%s", r.Port, strings.ToLower(string(r.Protocol)))
}
