package commands

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// note writes an event about an object, as a controller does, that was noted last some time ago.
func note(t *testing.T, id lease.ID, kind, name, message string, count int32, ago time.Duration) {
	t.Helper()
	now := metav1.NewTime(time.Now().Add(-ago))
	_, err := harness.Client().CoreV1().Events(id.Namespace()).Create(t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "note-"}, Type: corev1.EventTypeWarning, Reason: "Noted", Message: message, Count: count,
		FirstTimestamp: now, LastTimestamp: now, InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name, Namespace: id.Namespace()},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// events shows what controllers have noted about a lease, or about what belongs to one of its services.
func TestEventsOfWorkloads(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	harness.Run(t.Context(), "events", d.id.String()).Exits(t, 0).Says(t, "No events are kept of lease "+d.id.String())
	d.deploy(t, "1")
	ns := d.id.Namespace()
	web := harness.Pods(t, ns, "web", 1)
	harness.Pods(t, ns, "db", 1)
	note(t, d.id, "Pod", web[0].Name, "first line\nsecond \x1b[31mline", 4, 10*time.Minute)

	all := harness.Run(t.Context(), "events", d.id.Group().String()).Exits(t, 0)
	all.Prints(t, "LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE", "deployment/web", "ScalingReplicaSet", "statefulset/db", `first line\nsecond \x1b[31mline`, "10m (x4 over 10m)")
	if rows := strings.Split(all.Stdout, "\n"); !strings.HasPrefix(rows[0], "LAST SEEN") || !strings.Contains(rows[1], "Noted") {
		t.Errorf("the oldest is not first, or there is no header: %s", all)
	}
	some := harness.Run(t.Context(), "events", d.id.String(), "--service", "web", "--no-headers").Exits(t, 0).Prints(t, "deployment/web", "replicaset/web-", "pod/"+web[0].Name)
	if strings.Contains(some.Stdout, "/db") || strings.Contains(some.Stdout, "LAST SEEN") {
		t.Error(some)
	}
	var list struct {
		Kind  string         `json:"kind"`
		Items []corev1.Event `json:"items"`
	}
	text := harness.Run(t.Context(), "events", d.id.String(), "-o", "json").Exits(t, 0).Stdout
	if err := json.Unmarshal([]byte(text), &list); err != nil || list.Kind != "List" || len(list.Items) < 4 || list.Items[0].Reason != "Noted" {
		t.Errorf("%v: %s", err, text)
	}
	harness.Run(t.Context(), "events", d.id.String(), "-o", "name").Exits(t, 0).Prints(t, "event/note-")
	harness.Run(t.Context(), "events", d.id.String(), "-o", "yaml").Exits(t, 0).Prints(t, "kind: List", "reason: Noted")
	harness.Run(t.Context(), "events", d.id.String(), "-o", "wide").Exits(t, 0).Prints(t, "FIRST SEEN", "deployment-controller")

	s := followLogs(t, "events", d.id.String(), "--service", "web", "-w", "--no-headers")
	s.expects("Noted")
	note(t, d.id, "StatefulSet", "db", "of another", 1, 0)
	note(t, d.id, "Deployment", "web", "of this", 1, 0)
	s.expects("of this")
	s.stop(interrupt)
	if code, _ := s.wait(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	// A watch prints each object by itself.
	s = followLogs(t, "events", d.id.String(), "--service", "web", "-w", "-o", "name")
	s.expects("event/note-")
	s.stop(interrupt)
	s.wait()
}
