package input_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/leasetest"
)

// An event is read from a line of JSON, with the manifest that it has; what is wrong with it is told with its place.
func TestReadEvent(t *testing.T) {
	id := lease.ID{Owner: leasetest.Wallet("owner"), DSeq: 7, GSeq: 1, OSeq: 2, Provider: leasetest.Wallet("provider")}
	other := id
	other.DSeq = 8
	service := `{"name":"web","image":"i","count":1,"expose":[{"port":80,"proto":"TCP","global":true,"hosts":["a.example.com"]}]}`
	groups := `[{"name":"dc","services":[` + service + `]}]`
	object := func(id lease.ID) string {
		return fmt.Sprintf(`{"apiVersion":"akash.network/v2beta2","kind":"Manifest","metadata":{"name":"m"},"spec":{"lease_id":{"owner":%q,"dseq":"%d","gseq":1,"oseq":2,"provider":%q},`+
			`"group":{"name":"dc","services":[{"name":"web","image":"i","count":1,"expose":[{"port":80,"external_port":80,"proto":"TCP","global":true,"hosts":["a.example.com"]}]}]}}}`, id.Owner, id.DSeq, id.Provider)
	}
	received := func(manifest string) string {
		return fmt.Sprintf(`{"type":"ManifestReceived","lease":%q,"manifest":%s}`, id, manifest)
	}
	for name, tt := range map[string]struct{ line, want string }{
		"won":                           {fmt.Sprintf(`{"type":"LeaseWon","lease":%q}`, id), "LeaseWon"},
		"closed, in another order":      {fmt.Sprintf(` {"lease":%q, "type":"LeaseClosed", "manifest":null} `, id), "LeaseClosed"},
		"an escaped type":               {fmt.Sprintf(`{"type":"Lease\u0057on","lease":%q}`, id), "LeaseWon"},
		"a lease as a mapping":          {fmt.Sprintf(`{"type":"LeaseWon","lease":{"owner":%q,"dseq":"7","gseq":1,"oseq":2,"provider":%q}}`, id.Owner, id.Provider), "LeaseWon"},
		"won, as Akash encodes it":      {fmt.Sprintf(`{"type":"LeaseWon","LeaseID":{"owner":%q,"dseq":7,"gseq":1,"oseq":2,"provider":%q,"bseq":0},"Group":{"state":1},"Price":{"denom":"uakt","amount":"1"}}`, id.Owner, id.Provider), "LeaseWon"},
		"received, as Akash encodes it": {fmt.Sprintf(`{"type":"ManifestReceived","LeaseID":{"owner":%q,"dseq":"7","gseq":1,"oseq":2,"provider":%q,"bseq":1},"Manifest":%s,"Deployment":{"groups":[]},"Group":null}`, id.Owner, id.Provider, groups), "ManifestReceived a.example.com"},
		"closed, as the chain has it":   {fmt.Sprintf(`{"type":"akash.market.v1.EventLeaseClosed","id":{"owner":%q,"dseq":"7","gseq":1,"oseq":2,"provider":%q,"bseq":0},"reason":"lease_closed_owner"}`, id.Owner, id.Provider), "LeaseClosed"},
		"a lease twice":                 {fmt.Sprintf(`{"type":"LeaseWon","lease":%q,"id":%[1]q}`, id), `"lease" and "id" mean the same; give one of them`},
		"a manifest":                    {received(groups), "ManifestReceived a.example.com"},
		"an SDL":                        {received(`{"version":"2.0","services":{"web":{"image":"i","expose":[{"port":80,"accept":["a.example.com"],"to":[{"global":true}]}]}},"profiles":{"compute":{"web":{"resources":{"cpu":{"units":1},"memory":{"size":"1Gi"},"storage":{"size":"1Gi"}}}},"placement":{"dc":{"pricing":{"web":{"denom":"uakt","amount":1}}}}},"deployment":{"web":{"dc":{"profile":"web","count":1}}}}`), "ManifestReceived a.example.com"},
		"a Manifest object":             {received(object(id)), "ManifestReceived a.example.com"},
		"that of another lease":         {received(object(other)), "bus:7:" + fmt.Sprint(len(`{"type":"ManifestReceived","lease":"","manifest":`)+len(id.String())+1) + ": manifest: the manifest is for lease " + other.String() + ", and the event for lease " + id.String()},
		"no manifest":                   {fmt.Sprintf(`{"type":"ManifestReceived","lease":%q}`, id), `bus:7:1: "manifest" is missing`},
		"an empty one":                  {received(`[]`), "the manifest has no groups"},
		"a text":                        {received(`"x"`), "expected a lease definition, found something else"},
		"a List":                        {received(`{"apiVersion":"v1","kind":"List","items":[]}`), "unsupported kind List"},
		"a wrong host":                  {received(strings.Replace(groups, "a.example", "A.example", 1)), "is not lower case"},
		"a key twice":                   {fmt.Sprintf(`{"type":"LeaseWon","type":"LeaseClosed","lease":%q}`, id), `bus:7:20: type: key "type" is given twice`},
		"a key of a manifest twice":     {received(`[{"name":"a","name":"dc","services":[` + service + `]}]`), `key "name" is given twice`},
		"an unknown type":               {fmt.Sprintf(`{"type":"LeaseClose","lease":%q}`, id), `bus:7:9: type: unknown type "LeaseClose"; did you mean "LeaseClosed"?; the types are LeaseWon, ManifestReceived, LeaseClosed`},
		"no type":                       {fmt.Sprintf(`{"lease":%q}`, id), `"type" is missing`},
		"a number for a type":           {fmt.Sprintf(`{"type":1,"lease":%q}`, id), `expected a text, found the number 1`},
		"an unknown key":                {fmt.Sprintf(`{"type":"LeaseWon","lease":%q,"colour":1}`, id), `unknown key "colour"`},
		"no lease":                      {`{"type":"LeaseWon"}`, `"lease" is missing`},
		"an order for a lease":          {fmt.Sprintf(`{"type":"LeaseWon","lease":%q}`, id.Order()), "is not of the form OWNER/DSEQ/GSEQ/OSEQ/PROVIDER"},
		"a wallet with a typo":          {fmt.Sprintf(`{"type":"LeaseWon","lease":%q}`, strings.Replace(id.String(), id.Provider, id.Owner+"q", 1)), "provider: "},
		"a list":                        {`[1]`, "bus:7:1: expected a mapping, found a list"},
		"null":                          {`null`, "expected an event, found nothing"},
		"two events":                    {`{"type":"LeaseWon"} {"type":"LeaseWon"}`, "bus:7:21: not valid JSON"},
		"YAML":                          {fmt.Sprintf(`{type: LeaseWon, lease: %q}`, id), "bus:7:2: not valid JSON"},
		"cut off":                       {`{"type":"LeaseWo`, "bus:7:"},
		"an invalid escape":             {`{"type":"\x41"}`, "not valid JSON"},
		"a control character":           {"\x1b[31m", "not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			event, problems := input.ReadEvent([]byte(tt.line), "bus", 7, input.Options{})
			got := string(event.Type)
			if event.Definition != nil {
				got += " " + event.Definition.Services[0].Expose[0].Hosts[0].Name
			}
			if problems.Failed() {
				got = problems.Error()
				if event.Definition != nil {
					t.Error("it has a definition all the same")
				}
				if name == "an empty one" && (event.Type != input.ManifestReceived || event.Lease != id) {
					t.Errorf("what can be read is not known, so that its acknowledgement could not name it: %+v", event)
				}
			} else if event.Lease != id {
				t.Errorf("the lease is %s", event.Lease)
			}
			if got != tt.want && (!problems.Failed() || !strings.Contains(got, tt.want)) {
				t.Errorf("it is %s\nwant %s", got, tt.want)
			}
		})
	}
}

func FuzzReadEvent(f *testing.F) {
	f.Add([]byte(`{"type":"ManifestReceived","lease":"akash1x/1/1/1/akash1y","manifest":[{"name":"a"}]}`))
	f.Add([]byte("{\"type\":\"LeaseWon\",\"lease\":{\"dseq\":\"1\"}}\x00"))
	f.Fuzz(func(t *testing.T, line []byte) {
		event, problems := input.ReadEvent(line, "bus", 1, input.Options{Workloads: true})
		if !problems.Failed() && (event.Type == "" || event.Lease == lease.ID{} || (event.Type == input.ManifestReceived) != (event.Definition != nil)) {
			t.Errorf("%q is %+v", line, event)
		}
	})
}
