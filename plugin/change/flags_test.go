package change

import (
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
)

// A command waits for as long as --timeout says: not at all with 0, and for a week with less, as `kubectl wait` does.
func TestTimeout(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want time.Duration
	}{
		{nil, time.Minute},
		{[]string{"--timeout=90s"}, 90 * time.Second},
		{[]string{"--timeout=0"}, 0},
		{[]string{"--timeout=-1s"}, 7 * 24 * time.Hour},
		{[]string{"--wait=false"}, 0},
		{[]string{"--wait=false", "--timeout=-1s"}, 0},
	} {
		var f changeFlags
		cmd := &cobra.Command{}
		f.addWait(cmd, "for it")
		if err := cmd.ParseFlags(tt.args); err != nil {
			t.Fatal(err)
		}
		if got := f.options(config.Default(), &console.Events{}).Wait; got != tt.want {
			t.Errorf("%q waits for %s, want %s", tt.args, got, tt.want)
		}
	}
}
