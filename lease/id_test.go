package lease

import (
	"strings"
	"testing"
)

func TestOrders(t *testing.T) {
	const owner = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	o, err := ParseOrder(owner + "/8438017/1/2")
	if err != nil || o != (Order{Owner: owner, DSeq: 8438017, GSeq: 1, OSeq: 2}) || o.String() != owner+"/8438017/1/2" {
		t.Fatal(o, err)
	}
	if o.FieldManager() != "akash-net/"+owner+"/8438017/1/2" || o.Group().String() != owner+"/8438017/1" {
		t.Error(o.FieldManager(), o.Group())
	}
	longest := Order{Owner: "akash1" + strings.Repeat("q", 57), DSeq: 1<<64 - 1, GSeq: 1<<32 - 1, OSeq: 1<<32 - 1}
	if again, err := ParseOrder(longest.String()); err != nil || again != longest || len(longest.FieldManager()) > 128 {
		t.Error(again, err, len(longest.FieldManager()))
	}
	if o.Compare(longest) >= 0 || longest.Compare(o) <= 0 || o.Compare(o) != 0 {
		t.Error("orders are not in order")
	}
	for text, says := range map[string]string{
		"": "is not of the form", owner: "is not of the form", owner + "/1/1": "is not of the form", owner + "/1/1/1/" + owner: "is not of the form",
		owner + "/1/1/0": "oseq", owner + "/1/1/01": "oseq", owner + "/1/1/4294967296": "oseq", owner + "/1/-1/1": "gseq", owner + "/18446744073709551616/1/1": "dseq", "x/1/1/1": "owner",
	} {
		if _, err := ParseOrder(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: want %q, got %v", text, says, err)
		}
	}
}
