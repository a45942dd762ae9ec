package printing

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Rows are sorted by a field: texts with numbers in them as people sort them, addresses and numbers by their value, rows without it first.
func TestSortBy(t *testing.T) {
	hosts := []view.HostRow{
		{Host: "n10.example.com", Tenant: &view.Tenant{DSeq: 9}}, {Host: "n9.example.com", Tenant: &view.Tenant{DSeq: 10}, Port: 80},
		{Host: "a.example.com", Tenant: &view.Tenant{DSeq: 10}, Port: 9},
	}
	ips := []view.IPRow{{Address: netip.MustParseAddr("203.0.113.10")}, {Address: netip.MustParseAddr("203.0.113.9")}}
	for _, tt := range []struct {
		by, want string
		subject  view.Subject
	}{
		{".host", "host/a.example.com host/n9.example.com host/n10.example.com", view.SubjectHosts},
		{"{.host}", "host/a.example.com host/n9.example.com host/n10.example.com", view.SubjectHosts},
		{"dseq", "host/n10.example.com host/n9.example.com host/a.example.com", view.SubjectHosts},
		{".port", "host/n10.example.com host/a.example.com host/n9.example.com", view.SubjectHosts},

		{".address", "address/203.0.113.9 address/203.0.113.10", view.SubjectIPs},
	} {
		var out bytes.Buffer
		f := NewFlags()
		f.Output, f.SortBy = "name", tt.by
		show, err := f.Printer([]view.Subject{tt.subject}, &out, time.Now)
		if err == nil {
			err = show(&view.Book{Hosts: append([]view.HostRow(nil), hosts...), IPs: append([]view.IPRow(nil), ips...)})
		}
		if got := strings.Join(strings.Fields(out.String()), " "); err != nil || got != tt.want {
			t.Errorf("--sort-by %s: %s, %v; want %s", tt.by, got, err, tt.want)
		}
	}
	f := NewFlags()
	f.SortBy = ".hots"
	show, err := f.Printer([]view.Subject{view.SubjectHosts}, &bytes.Buffer{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := show(&view.Book{Hosts: hosts}); err == nil || !strings.Contains(err.Error(), `no row has a field ".hots"`) {
		t.Errorf("a field that no row has: %v", err)
	}
	if err := show(&view.Book{}); err != nil {
		t.Errorf("no rows: %v", err)
	}
	f.SortBy = "{.host"
	if _, err := f.Printer([]view.Subject{view.SubjectHosts}, &bytes.Buffer{}, time.Now); err != nil {
		t.Errorf("a path without its last brace: %v", err)
	}
	f.SortBy = ".host[("
	if _, err := f.Printer([]view.Subject{view.SubjectHosts}, &bytes.Buffer{}, time.Now); err == nil {
		t.Error("no path is taken for one")
	}
}
