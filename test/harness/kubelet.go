package harness

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kubelet is a fake node that answers only the API server's requests for logs.
type Kubelet struct {
	node string

	mu sync.Mutex
	// logs has the output of containers, by POD/CONTAINER.
	logs map[string]*printed
	// asked has the queries of log requests, by POD/CONTAINER.
	asked map[string][]url.Values
}

// printed is the output of a container. changed is closed and replaced when the output changes.
type printed struct {
	text    string
	ended   bool
	changed chan struct{}
}

// StartKubelet creates a node whose kubelet listens until the test ends.
func StartKubelet(t *testing.T) *Kubelet {
	t.Helper()
	k := &Kubelet{node: fmt.Sprint("node-", Number()), logs: map[string]*printed{}, asked: map[string][]url.Values{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.serve)
	server := httptest.NewTLSServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(at.Port(), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	nodes := Client().CoreV1().Nodes()
	node, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: k.node}}, metav1.CreateOptions{})
	if err == nil {
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: at.Hostname()}}
		node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
		_, err = nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Runs binds pods to the node and sets their status to running and ready.
func (k *Kubelet) Runs(t *testing.T, pods ...corev1.Pod) {
	t.Helper()
	for _, p := range pods {
		if p.Spec.NodeName == "" {
			binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: k.node}}
			if err := Client().CoreV1().Pods(p.Namespace).Bind(t.Context(), binding, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			p.Spec.NodeName = k.node
		}
		Runs(t, p)
	}
}

// Prints adds text to the output of a pod's only container.
func (k *Kubelet) Prints(p corev1.Pod, text string) {
	k.change(p, func(l *printed) { l.text += text })
}

// Ends ends the output of a pod's container: a client that follows the log gets EOF.
func (k *Kubelet) Ends(p corev1.Pod) { k.change(p, func(l *printed) { l.ended = true }) }

// Asked returns the queries of the requests for the log of a pod's container.
func (k *Kubelet) Asked(p corev1.Pod) []url.Values {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.asked[name(p)]
}

// name returns POD/CONTAINER for the pod's only container.
func name(p corev1.Pod) string { return p.Name + "/" + p.Spec.Containers[0].Name }

// change changes the output of a pod's container and wakes its followers.
func (k *Kubelet) change(p corev1.Pod, change func(*printed)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.log(name(p))
	change(l)
	close(l.changed)
	l.changed = make(chan struct{})
}

// log returns the output of a container; the caller must hold mu.
func (k *Kubelet) log(name string) *printed {
	if k.logs[name] == nil {
		k.logs[name] = &printed{changed: make(chan struct{})}
	}
	return k.logs[name]
}

// serve answers a log request as a kubelet does.
func (k *Kubelet) serve(w http.ResponseWriter, r *http.Request) {
	name, query := r.PathValue("pod")+"/"+r.PathValue("container"), r.URL.Query()
	k.mu.Lock()
	k.asked[name] = append(k.asked[name], query)
	k.mu.Unlock()
	if query.Get("previous") == "true" {
		http.Error(w, fmt.Sprintf("previous terminated container %q in pod %q not found", r.PathValue("container"), r.PathValue("pod")), http.StatusBadRequest)
		return
	}
	sent := -1
	for {
		k.mu.Lock()
		l := k.log(name)
		text, ended, changed := l.text, l.ended, l.changed
		k.mu.Unlock()
		if sent < 0 {
			sent = len(text) - len(tail(text, query.Get("tailLines")))
		}
		if _, err := w.Write([]byte(text[sent:])); err != nil {
			return
		}
		sent = len(text)
		w.(http.Flusher).Flush()
		if ended || query.Get("follow") != "true" {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// tail returns the last lines of a text, or all of it if lines is no number.
func tail(text, lines string) string {
	n, err := strconv.Atoi(lines)
	all := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	if err != nil || n >= len(all) {
		return text
	}
	return text[len(text)-len(strings.Join(all[len(all)-n:], ""))-1*min(n, 1):]
}
