package page_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/akash-net/kubectl-akash-net/reconcile/page/pagetest"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/view"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// What is seen is shown, also to whoever has the page on a desk and in the dark.
func TestShown(t *testing.T) {
	c := &made{seen: pagetest.Seen(t)}
	_, url := serve(t, c)
	b := open(t, size{1280, 1560}, "light")
	b.visit(url)
	b.shows("#tiles", "Problems", "4", "Hosts", "12")
	b.shows("#problems", "NotServed", "cdn.example.net", "kubectl akash-net repair NotServed/cdn.example.net", "'BlockedHost/*.wild.example.dev'")
	b.shows("#problems", "LeaseFails", "failed 4 times in a row", "kubectl akash-net events akash1")
	b.shows("#commands", "deploy@ci-7", "is at work")
	b.shows("#hosts", "shop.example.com/cart", "Withheld", "without a claim")
	b.shows("#addresses", "198.51.96.0", "443/tcp", "1–50 of 116")
	b.shows("#resources", "cpu", "gpu")
	b.picture("page", false)
}

// On a telephone nothing is wider than the screen, and each row is a card.
func TestPhone(t *testing.T) {
	c := &made{seen: pagetest.Seen(t)}
	_, url := serve(t, c)
	b := open(t, phone, "light")
	b.visit(url)
	b.fits()
	b.is(`getComputedStyle(document.querySelector("#hosts tr[id]")).display === "block"`)
	b.is(`document.querySelector("thead").getBoundingClientRect().width <= 1`)
	b.is(`(document.getElementById("pools").scrollIntoView(), true)`)
	b.picture("page-phone", false)
}

// What likes the dark gets it, and a button changes it, also for the next time.
func TestDark(t *testing.T) {
	c := &made{seen: pagetest.Seen(t)}
	_, url := serve(t, c)
	b := open(t, desk, "dark")
	b.visit(url)
	const ground = `getComputedStyle(document.body).backgroundColor`
	if is := get[string](b, ground); is != "rgb(16, 18, 20)" {
		t.Errorf("the dark is %s", is)
	}
	b.is(`(document.getElementById("pools").scrollIntoView(), true)`)
	b.picture("page-dark", false)
	b.is(`(document.getElementById("theme").click(), true)`)
	b.is(ground + ` === "rgb(246, 246, 244)"`)
	b.visit(url)
	b.is(ground + ` === "rgb(246, 246, 244)"`)
}

// A change is shown without a reload: what somebody types and has opened stays, and what has the focus keeps it.
func TestChangesAreShown(t *testing.T) {
	c := &made{seen: pagetest.Seen(t)}
	p, url := serve(t, c)
	b := open(t, desk, "light")
	b.visit(url)
	b.is(`window.stays = document.getElementById("host/shop.example.com"), window.stays !== null`)
	b.is(`document.getElementById("nodes").open = true`)
	b.is(`(window.stays.querySelector("a").focus(), true)`)

	next := pagetest.Seen(t)
	next.Book.Hosts[0].State = view.StatePending
	next.Book.Hosts = append(next.Book.Hosts, pagetest.Host("new.example.com", statetest.Blog, view.StateActive, 0))
	next.Book.Problems = next.Book.Problems[1:]
	c.set(next, nil)
	p.Changed()
	b.until(`document.getElementById("host/new.example.com") !== null`)
	b.shows("#tiles", "13")
	b.is(`!document.getElementById("problems").innerText.includes("NotServed")`)
	b.is(`document.getElementById("host/api.example.com").innerText.includes("Pending")`)
	b.is(`document.getElementById("host/api.example.com").classList.contains("changed")`)
	b.is(`document.getElementById("host/new.example.com").classList.contains("changed")`)
	b.is(`!window.stays.classList.contains("changed")`)
	b.is(`document.getElementById("host/shop.example.com") === window.stays`)
	b.is(`document.activeElement === window.stays.querySelector("a")`)
	b.is(`document.getElementById("nodes").open`)
	b.is(`document.getElementById("live").textContent === "Live"`)
	b.is(`document.title === "(3) akash-net"`)

	c.set(nil, errors.New("no route to host"))
	p.Changed()
	b.until(`document.getElementById("stale")?.innerText.includes("no route to host")`)
	b.is(`document.getElementById("host/new.example.com") !== null`)
	c.set(next, nil)
	b.until(`document.getElementById("stale") === null`)
}

// While a tab is hidden nothing is read for it, whatever changes. Whoever comes back to it sees what has changed.
func TestHiddenTab(t *testing.T) {
	c := &made{seen: pagetest.Seen(t)}
	p, url := serve(t, c)
	b := open(t, desk, "light")
	b.visit(url)
	hide := func(hidden bool) {
		b.is(fmt.Sprintf(`(Object.defineProperty(document, "hidden", {configurable: true, value: %t}), document.dispatchEvent(new Event("visibilitychange")))`, hidden))
	}
	hide(true)
	harness.Eventually(t, "a hidden tab follows nothing", func(context.Context) (bool, error) {
		return c.followers.Load() == 0, nil
	})
	next := pagetest.Seen(t)
	next.Book.Hosts = append(next.Book.Hosts, pagetest.Host("new.example.com", statetest.Blog, view.StateActive, 0))
	c.set(next, nil)
	p.Changed()
	hide(false)
	b.until(`document.getElementById("host/new.example.com") !== null`)
	b.is(`document.getElementById("live").textContent === "Live"`)
}

// When the server is away the page says so, and follows it again when it is back.
func TestServerAway(t *testing.T) {
	c := &made{seen: pagetest.Seen(t)}
	_, url, server := serveOn(t, "127.0.0.1:0", c)
	b := open(t, desk, "light")
	b.visit(url)
	server()
	b.until(`document.getElementById("live").textContent === "Not connected"`)
	b.shows("#hosts", "shop.example.com")
	next := pagetest.Seen(t)
	next.Book.Hosts = next.Book.Hosts[:3]
	c.set(next, nil)
	serveOn(t, url[len("http://"):len(url)-1], c)
	b.until(`document.getElementById("live").textContent === "Live" && document.getElementById("host/shop.example.com") === null`)
	b.forgive() // Chromium says that it was refused
}

// A search is typed, is in the URL, and goes with Escape. Its hits are of the whole cluster.
func TestSearchIsTyped(t *testing.T) {
	c := &made{seen: pagetest.Many(300)}
	_, url := serve(t, c)
	b := open(t, desk, "light")
	b.visit(url)
	b.is(`!document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true, cancelable: true }))`)
	b.is(`document.activeElement.type === "search"`)
	b.press("h00123.")
	b.until(`document.querySelectorAll("#hosts tbody tr").length === 1 && document.getElementById("host/h00123.example.com") !== null`)
	b.is(`location.search === "?q=h00123."`)
	b.shows("#hosts .pager", "1–1 of 1 found, 300 in all")
	b.press(kb.Escape)
	b.until(`document.querySelectorAll("#hosts tbody tr").length === 50 && location.search === ""`)

	b.visit(url + "?q=h00250.example.com")
	b.is(`document.querySelector("input[type=search]").value === "h00250.example.com"`)
	b.is(`document.querySelectorAll("#hosts tbody tr").length === 1`)
}

// A link to a thing finds its row, on whichever page it is.
func TestLinksToThings(t *testing.T) {
	c := &made{seen: pagetest.Many(300)}
	_, url := serve(t, c)
	b := open(t, desk, "light")
	found := func(id string) string {
		return fmt.Sprintf(`document.getElementById(%q)?.classList.contains("found") && document.getElementById(%[1]q).getBoundingClientRect().top < innerHeight`, id)
	}
	b.visit(url + "#host/h00003.example.com")
	b.until(found("host/h00003.example.com"))
	b.visit(url + "#host/h00222.example.com")
	b.until(found("host/h00222.example.com"))
	lease := "lease/" + c.seen.Book.Hosts[222].Lease
	b.is(`(document.querySelector("#hosts td a").click(), true)`)
	b.until(found(lease))
	b.is(`(location.hash = "#address/10.0.0.200", true)`)
	b.until(found("address/10.0.0.200"))
	b.is(`(location.hash = "#host/%E0%A4%A", location.hash = "#host/none.example.com", true)`)
	b.until(`document.getElementById("live").textContent === "host/none.example.com is not on the board"`)
}

// What is hostile in the cluster is text in the browser.
func TestHostileText(t *testing.T) {
	c := &made{seen: pagetest.Harmful()}
	p, url := serve(t, c)
	b := open(t, phone, "light")
	b.visit(url)
	harmless := func() {
		b.is(`window.harm === undefined`)
		b.is(`document.querySelectorAll("script").length === 1 && document.querySelectorAll("img, iframe, object, style, [onerror], [style]").length === 0`)
		b.is(`[...document.links].every(a => a.origin === location.origin || a.origin === "http://shop.example.com")`)
		b.fits()
		b.is(`document.querySelectorAll(".copy").length === 0`)
	}
	harmless()
	b.shows("#hosts", "<script>window.harm=1</script>", `\u202egnp.exe\x1b[31m`)
	next := pagetest.Harmful()
	next.Book.Problems = append(next.Book.Problems, state.Problem{Problem: "Another", Thing: pagetest.Hostile})
	c.set(next, nil)
	p.Changed()
	b.until(`document.getElementById("problems").innerText.includes("Another")`)
	harmless()
	b.is(`(location.hash = "#host/" + encodeURIComponent("<img src=x onerror=window.harm=1>"), true)`)
	b.until(`document.getElementById("live").textContent.includes("is not on the board")`)
	harmless()
}

// All is reached with keys, and what has the focus is seen.
func TestKeys(t *testing.T) {
	c := &made{seen: pagetest.Seen(t)}
	_, url := serve(t, c)
	b := open(t, desk, "light")
	b.visit(url)
	b.press(kb.Tab)
	b.is(`document.activeElement.matches(".skip") && document.activeElement.getBoundingClientRect().left >= 0`)
	b.press(kb.Enter)
	b.until(`document.activeElement.id === "board" || location.hash === "#board"`)
	b.press(kb.Tab)
	b.is(`document.activeElement.matches(".tile") && getComputedStyle(document.activeElement).outlineStyle === "solid"`)
	for range 200 {
		if b.press(kb.Tab); get[bool](b, `document.activeElement.matches(".cells")`) {
			break
		}
	}
	b.press(kb.ArrowRight + kb.ArrowRight)
	b.shows("#pools .scale", "203.0.113.2, active, akash1h24…9w3c9h/8438017")
	b.press(kb.ArrowDown)
	b.is(`!document.querySelector("#pools .scale").innerText.includes("203.0.113.2,")`)
	b.press(kb.ArrowUp + kb.Enter)
	b.until(`document.getElementById("address/203.0.113.2")?.classList.contains("found")`)
}

// The command that mends a problem is copied.
func TestCopy(t *testing.T) {
	c := &made{seen: pagetest.Seen(t)}
	_, url := serve(t, c)
	b := open(t, desk, "light")
	b.visit(url)
	b.is(`(document.querySelector(".copy").click(), true)`)
	b.until(`["Copied", "Selected"].includes(document.querySelector(".copy").textContent)`)
	b.is(`document.querySelector(".copy").textContent === "Copied" || getSelection().toString() === "kubectl akash-net repair NotServed/cdn.example.net"`)
}

// Without scripts all is shown, and is searched too.
func TestWithoutScripts(t *testing.T) {
	c := &made{seen: pagetest.Seen(t)}
	_, url := serve(t, c)
	b := open(t, desk, "light")
	b.do(func(ctx context.Context, to *chromedp.Target) (v chromedp.Void, err error) {
		_, err = cdp.Call(ctx, to, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return v, err
	}, chromedp.Navigate(url))
	b.shows("#hosts", "shop.example.com", "2026-11-18 13:00")
	b.is(`getComputedStyle(document.querySelector(".copy")).display === "none" && getComputedStyle(document.getElementById("theme")).display === "none"`)
	b.is(`(document.querySelector("input[type=search]").focus(), true)`)
	b.press("blog.example.org" + kb.Enter)
	b.until(`location.search === "?q=blog.example.org" && document.querySelectorAll("#hosts tbody tr").length === 1`)
}

// Ten thousand leases are a page that stays small.
func TestManyLeases(t *testing.T) {
	c := &made{seen: pagetest.Many(10_000)}
	_, url := serve(t, c)
	b := open(t, desk, "light")
	b.visit(url)
	b.shows("#tiles", "10\u202f000")
	b.is(`document.querySelectorAll("tr").length < 200 && document.querySelectorAll("*").length < 4000`)
	t.Log(get[string](b, `(() => { const n = performance.getEntriesByType("navigation")[0]; return "answered after " + Math.round(n.responseEnd) +
		" ms, shown after " + Math.round(n.domComplete) + " ms, " + n.encodedBodySize + " bytes packed, " + n.decodedBodySize + " bytes"; })()`))
}
