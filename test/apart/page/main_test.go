// Package page_test looks at the page in headless Chromium: over what is made up, and over a real control plane.
package page_test

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/akash-net/kubectl-akash-net/reconcile/page"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// update writes the pictures of the documentation.
var update = flag.Bool("update", false, "write docs/images")

// allowed is how long a test may wait for what it expects.
const allowed = 30 * time.Second

func TestMain(m *testing.M) {
	flag.Parse()
	if chromium() == "" || !harness.Long() && !*update {
		os.Exit(m.Run()) // they are skipped
	}
	code := harness.Main(m, harness.Setup{Binary: true, MetalLB: true, Install: true, Config: configuration})
	_, stop := started()
	stop()
	os.Exit(code)
}

// chromium returns the path of Chromium, empty if it is not installed.
func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// made is a cluster that is made up, which a test changes, or a real one.
type made struct {
	mu   sync.Mutex
	seen *page.Seen
	err  error
	// read, if it is set, reads a real cluster instead.
	read func(context.Context) (*page.Seen, error)
	// followers counts the tabs that follow its changes.
	followers atomic.Int64
}

func (c *made) look(ctx context.Context) (*page.Seen, error) {
	if c.read != nil {
		return c.read(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	seen := *c.seen
	return &seen, nil
}

// set changes what is seen.
func (c *made) set(seen *page.Seen, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen, c.err = seen, err
}

// serve serves the page of a cluster until the test ends.
func serve(t *testing.T, c *made) (p *page.Page, url string) {
	t.Helper()
	p, url, _ = serveOn(t, "127.0.0.1:0", c)
	return p, url
}

// serveOn serves the page of a cluster on an address, until it is stopped or the test ends.
func serveOn(t *testing.T, address string, c *made) (p *page.Page, url string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p = page.New(ctx, page.Options{Look: c.look, Every: time.Minute})
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/events" {
			c.followers.Add(1)
			defer c.followers.Add(-1)
		}
		p.ServeHTTP(w, r)
	})
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler, ReadHeaderTimeout: allowed}}
	server.Start()
	stop = func() { cancel(); server.Close() }
	t.Cleanup(stop)
	return p, server.URL + "/", stop
}

// browser is a tab of Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context
	mu  sync.Mutex
	// said is what the console has said, of which there is to be nothing.
	said []string
}

// size is that of a screen.
type size struct{ width, height int64 }

var (
	desk  = size{1280, 900}
	phone = size{360, 740}
)

// started starts Chromium, once.
var started = sync.OnceValues(func() (context.Context, context.CancelFunc) {
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(chromium()), chromedp.NoSandbox) // root has none
	allocated, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocated)
	return ctx, func() { cancel(); stop() }
})

// open opens a tab with the size of a screen, light or dark. The test fails if the console says anything, as of a breach of the policy.
func open(t *testing.T, on size, scheme string) *browser {
	t.Helper()
	if !*update {
		harness.NeedsLong(t)
	}
	if chromium() == "" {
		t.Skip("Chromium is not installed, with which this test looks at the page: apt-get install chromium")
	}
	of, _ := started()
	if err := chromedp.Do(of); err != nil {
		t.Fatal(err)
	}
	ctx, closeTab := chromedp.NewContext(of, chromedp.WithNewBrowserContext())
	b := &browser{t: t, ctx: ctx}
	t.Cleanup(func() {
		closeTab()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, text := range b.said {
			t.Errorf("the console says: %s", text)
		}
	})
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	set := func(p *emulation.SetDeviceMetricsOverrideParams, _ *emulation.SetTouchEmulationEnabledParams) {
		p.Mobile = on == phone
	}
	b.do(chromedp.EmulateViewport(on.width, on.height, set), chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		media := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
		_, err := cdp.Call(ctx, to, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: media})
		if err == nil {
			_, err = cdp.Call(ctx, to, log.Enable, cdp.Empty{})
		}
		return err
	}))
	return b
}

// hear keeps what the console says.
func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		b.said = append(b.said, e.Entry.Text+" "+e.Entry.URL)
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, fmt.Sprintf("%s: %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		b.said = append(b.said, string(e.Type))
	}
}

// forgive forgets what the console has said so far.
func (b *browser) forgive() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = nil
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, allowed)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// press presses keys.
func (b *browser) press(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// visit opens a page, and waits until it follows changes.
func (b *browser) visit(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
	b.until(`document.getElementById("live").textContent === "Live"`)
}

// get returns the value of an expression.
func get[V any](b *browser, expression string) V {
	b.t.Helper()
	v, err := ask[V](b, expression)
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

func ask[V any](b *browser, expression string) (V, error) {
	ctx, cancel := context.WithTimeout(b.ctx, allowed)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[V](expression))
}

// is fails unless an expression is true.
func (b *browser) is(expression string) {
	b.t.Helper()
	if !get[bool](b, "Boolean("+expression+")") {
		b.t.Errorf("it is not so that %s", expression)
	}
}

// until waits until an expression is true. The policy forbids the page itself to evaluate it. While the browser goes to another page it has
// no value.
func (b *browser) until(expression string) {
	b.t.Helper()
	for end := time.Now().Add(allowed); ; time.Sleep(20 * time.Millisecond) {
		is, err := ask[bool](b, "Boolean("+expression+")")
		if is && err == nil {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("it does not become so that %s: %v\n%s", expression, err, get[string](b, "document.body.innerText"))
		}
	}
}

// shows fails unless the text of an element, as one sees it, has all of some texts.
func (b *browser) shows(selector string, texts ...string) {
	b.t.Helper()
	is := get[string](b, fmt.Sprintf("document.querySelector(%q).innerText", selector))
	for _, want := range texts {
		if !strings.Contains(is, want) {
			b.t.Errorf("%s does not show %q:\n%s", selector, want, is)
		}
	}
}

// fits fails if the page is wider than the screen.
func (b *browser) fits() {
	b.t.Helper()
	if wide := get[string](b, `document.documentElement.scrollWidth <= screen.width ? "" : [...document.querySelectorAll("body *")]
		.filter(e => e.getBoundingClientRect().right > screen.width).map(e => e.outerHTML.slice(0, 80)).slice(0, 8).join("\n")`); wide != "" {
		b.t.Errorf("it is wider than the screen:\n%s", wide)
	}
}

// picture writes a picture of the documentation, with -update: of what one sees, or of the whole page.
func (b *browser) picture(name string, whole bool) {
	b.t.Helper()
	if !*update {
		return
	}
	take := chromedp.CaptureScreenshot()
	if whole {
		take = chromedp.FullScreenshot(100)
	}
	png, err := chromedp.Run(b.ctx, take)
	if err == nil {
		err = os.WriteFile(filepath.Join("..", "..", "..", "docs", "images", name+".png"), png, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
