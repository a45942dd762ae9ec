package observed_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// recordLease returns a lease of one owner's deployment.
func recordLease(t *testing.T, dseq int) lease.ID {
	t.Helper()
	id, err := lease.ParseID(fmt.Sprintf("akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/%d/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0", dseq))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// recordsFor renders the records of a host.
func recordsFor(t *testing.T, id lease.ID, host string, change func(*config.DNS)) []render.Object {
	t.Helper()
	cfg := config.Default()
	cfg.DNS = config.DNS{Form: config.DNSGardener, Sources: []string{config.FromTarget}, Targets: []string{"192.0.2.1"}, Gardener: config.Gardener{Type: "aws-route53"}}
	if change != nil {
		change(&cfg.DNS)
	}
	def := &lease.Definition{Lease: id, Hash: "hash", Services: []lease.Service{{Name: "web", Expose: []lease.Expose{
		{Port: 80, Protocol: lease.TCP, Global: true, Hosts: []lease.Host{{Name: host}}},
	}}}}
	records, err := render.Records(def, cfg, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return records.Objects
}

// recordsOf returns a snapshot with live records, the oldest first.
func recordsOf(live ...render.Object) *observed.Snapshot {
	s, lists := observed.NewSnapshot(), map[string][]*listed.Object{}
	for i, o := range live {
		u := render.Rendered(o)
		u.SetUID(types.UID(fmt.Sprint(i)))
		u.SetCreationTimestamp(metav1.NewTime(time.Unix(int64(i), 0)))
		lists[o.Kind.Plural] = append(lists[o.Kind.Plural], listed.New("", u))
	}
	s.Index(lists)
	return s
}

// Which records are replaced, and whose they are: testdata/records.txt.
//
//	replace LIVE; ... | WANTED; ...   the records that are deleted before others are created
//	holder LIVE; ... | LEASE/PATH...  of several deployments that hold parts of one host, the one with the oldest records keeps them
//	why WANTED | FIELD=VALUE          a live record is replaced, not updated, only if it is being deleted or an immutable field differs
//
// Records are LEASE [form=FORM] [type=TYPE] [class=CLASS] TARGET... [host=HOST]; leases are one and other.
func TestRecords(t *testing.T) {
	ids := map[string]lease.ID{"one": recordLease(t, 1), "other": recordLease(t, 2)}
	records := func(text string) (all []render.Object) {
		for _, one := range strings.Split(text, ";") {
			words := strings.Fields(one)
			if len(words) == 0 {
				continue
			}
			host, elsewhere := strings.CutPrefix(words[len(words)-1], "host=")
			if !elsewhere {
				host = shop
			}
			all = append(all, recordsFor(t, ids[words[0]], host, func(d *config.DNS) {
				d.Targets = nil
				for _, word := range words[1:] {
					switch name, value, _ := strings.Cut(word, "="); name {
					case "host":
					case "form":
						d.Form = value
					case "type":
						d.Gardener.Type = value
					case "class":
						d.Gardener.Class = value
					default:
						d.Targets = append(d.Targets, word)
					}
				}
			})...)
		}
		return all
	}
	golden.Rules{
		"replace": func(line string) string {
			live, want, _ := strings.Cut(line, "|")
			old, recreated := recordsOf(records(live)...).ToReplace(ids["one"].Group(), shop, records(want))
			var texts []string
			for _, g := range old {
				texts = append(texts, g.Object.Live.GetName()+" "+strings.ReplaceAll(g.Why, ids["other"].Group().String(), "OTHER"))
			}
			return strings.Join(append(texts, fmt.Sprintf("%d made anew", len(recreated))), "\n")
		},
		"holder": func(line string) string {
			live, held, _ := strings.Cut(line, "|")
			var claim *state.Claim
			for _, text := range strings.Fields(held) {
				if claim == nil {
					claim = &state.Claim{Kind: state.Host, Thing: shop, Owner: ids["one"].Owner}
				}
				of, path, _ := strings.Cut(text, "/")
				claim.Parts = append(claim.Parts, state.Part{Key: state.RouteKey("/" + path), Lease: ids[of], Path: "/" + path})
			}
			return strings.ReplaceAll(recordsOf(records(live)...).RecordHolder(ids["one"].Group(), claim, shop), ids["other"].Group().String(), "other")
		},
		"why": func(line string) string {
			text, change, _ := strings.Cut(line, " | ")
			want := records(text)[0]
			live := render.Rendered(want).DeepCopy()
			switch field, value, set := strings.Cut(change, "="); {
			case set:
				live.Object["spec"].(map[string]any)[field] = value
			case field == "deleted":
				live.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
			}
			return observed.WhyReplaced(want, live)
		},
	}.Check(t, "testdata/records.txt")
}

// A new spec of a DNSRecord comes with a new reconcile request; an unchanged spec keeps the old one.
func TestPrepared(t *testing.T) {
	id, now := recordLease(t, 1), time.Date(2026, 11, 21, 9, 0, 0, 1, time.UTC)
	o := recordsFor(t, id, "shop.example.com", nil)[0]
	read := func(o render.Object) [2]string {
		a := render.Rendered(o).GetAnnotations()
		return [2]string{a[view.GardenerOperation], a[view.GardenerTimestamp]}
	}
	asked := [2]string{"reconcile", "2026-11-21T09:00:00.000000001Z"}
	if got := read(observed.Prepared(o, nil, now)); got != asked {
		t.Errorf("a new record asks %v", got)
	}
	live := render.Rendered(observed.Prepared(o, nil, now))
	if got := read(observed.Prepared(o, live, now.Add(time.Hour))); got != asked {
		t.Errorf("the same record asks %v", got)
	}
	done := live.DeepCopy()
	annotations := done.GetAnnotations()
	delete(annotations, view.GardenerOperation)
	done.SetAnnotations(annotations)
	if got := read(observed.Prepared(o, done, now.Add(time.Hour))); got != [2]string{"", asked[1]} {
		t.Errorf("the same record, acted upon, asks %v", got)
	}
	changed := recordsFor(t, id, "shop.example.com", func(d *config.DNS) { d.TTL = 60 })[0]
	if got := read(observed.Prepared(changed, done, now.Add(time.Second))); got != [2]string{"reconcile", "2026-11-21T09:00:01.000000001Z"} {
		t.Errorf("a changed record asks %v", got)
	}
	endpoint := recordsFor(t, id, "shop.example.com", func(d *config.DNS) { d.Form = config.DNSEndpoint })[0]
	if got := read(observed.Prepared(endpoint, nil, now)); got != [2]string{} {
		t.Errorf("a DNSEndpoint asks %v", got)
	}
}
