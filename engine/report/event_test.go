package report

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Only what is gone is said to be.
func TestDeletion(t *testing.T) {
	for name, tt := range map[string]struct {
		action      Action
		finalizers  []string
		message     string
		want, tells string
	}{
		"gone":                        {action: Deleted, message: "taken back", want: "deleted", tells: "taken back"},
		"kept by finalizers":          {action: Deleted, finalizers: []string{"a/b", "c/d"}, want: "deleting", tells: "finalizers [a/b c/d]"},
		"pruned, with a reason":       {action: Pruned, finalizers: []string{"a/b"}, message: "why", want: "deleting", tells: "why; finalizers [a/b]"},
		"another one takes its place": {action: Replaced, finalizers: []string{"a/b"}, message: "by c", want: "replaced", tells: "by c"},
	} {
		t.Run(name, func(t *testing.T) {
			action, message := Deletion(tt.action, &metav1.ObjectMeta{Finalizers: tt.finalizers}, tt.message)
			if string(action) != tt.want || message != tt.tells {
				t.Errorf("%s (%s), want %s (%s)", action, message, tt.want, tt.tells)
			}
		})
	}
}
