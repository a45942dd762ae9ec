package render

import (
	"math"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
)

func TestAWeightOfALiveRouteIsFromZeroTo256(t *testing.T) {
	weight := func(n int32) *int32 { return &n }
	for name, c := range map[string]struct {
		weight *int32
		want   uint16
		ok     bool
	}{
		"the default":  {nil, 100, true},
		"none":         {weight(0), 0, true},
		"the largest":  {weight(256), 256, true},
		"one too many": {weight(257), 0, false},
		"negative":     {weight(-1), 0, false},
		"65536 + 1":    {weight(math.MaxUint16 + 2), 0, false},
	} {
		if got, err := readWeight("web", c.weight, lease.DefaultWeight); got != c.want || (err == nil) != c.ok {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
}

// A definition sets and deletes headers; a route that adds one cannot be read.
func TestHeaderRulesOfALiveRoute(t *testing.T) {
	set := []gwv1.HTTPHeader{{Name: "X-A", Value: "50%"}}
	rules, err := headerRules(&gwv1.HTTPHeaderFilter{Set: set, Remove: []string{"X-B"}})
	want := []lease.HeaderRule{{Name: "X-A", Value: "50%%"}, {Name: "X-B", Delete: true}}
	if err != nil || len(rules) != 2 || rules[0] != want[0] || rules[1] != want[1] {
		t.Errorf("%+v, %v, want %+v", rules, err, want)
	}
	if rules, err := headerRules(&gwv1.HTTPHeaderFilter{}); err != nil || rules == nil || len(rules) > 0 {
		t.Errorf("no rules are %v, %v", rules, err)
	}
	if _, err := headerRules(&gwv1.HTTPHeaderFilter{Set: set, Add: set}); err == nil {
		t.Error("an added header is dropped")
	}
}
