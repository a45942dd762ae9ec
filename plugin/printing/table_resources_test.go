package printing

import (
	"math"
	"testing"

	"github.com/akash-net/kubectl-akash-net/state/view"
)

func TestResourceBar(t *testing.T) {
	for _, c := range []struct {
		row  view.ResourceRow
		want string
	}{
		{view.ResourceRow{Allocatable: 20, InUse: 5, Reserved: 5}, "■■■■■▣▣▣▣▣□□□□□□□□□□"},
		{view.ResourceRow{Allocatable: 1000, InUse: 1, Reserved: 1}, "■▣□□□□□□□□□□□□□□□□□□"},
		{view.ResourceRow{Allocatable: 10, InUse: 10, Reserved: 10}, "■■■■■■■■■■■■■■■■■■■■"},
		{view.ResourceRow{Allocatable: 10, InUse: 99}, "■■■■■■■■■■■■■■■■■■■■"},
		{view.ResourceRow{Allocatable: math.MaxUint64, InUse: math.MaxUint64 / 2}, "■■■■■■■■■■□□□□□□□□□□"},
		{view.ResourceRow{Allocatable: 0, InUse: 1}, ""},
		{view.ResourceRow{Allocatable: math.MaxUint64, Unlimited: true}, ""},
	} {
		if got := resourceBar(c.row); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.row, got, c.want)
		}
	}
}
