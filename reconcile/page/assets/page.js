// The page works without this script. It follows changes, searches while one types, finds the things that links name, and copies commands.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const kept = (() => { try { return localStorage.getItem("theme"); } catch { return null; } })();
  if (kept === "light" || kept === "dark") root.dataset.theme = kept;

  addEventListener("DOMContentLoaded", () => {
    const board = () => document.getElementById("board");
    const search = document.querySelector("input[type=search]");
    const live = document.getElementById("live");
    const say = (text, on) => { live.textContent = text; live.classList.toggle("on", Boolean(on)); };

    // Times are written as they are, and shown as how long ago by the clock of the cluster.
    const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
    let ahead = Date.now() - Date.parse(document.body.dataset.now) || 0;
    const ages = (within, now) => {
      for (const t of within.querySelectorAll("time[datetime]")) {
        const at = Date.parse(t.dateTime), gone = Math.abs(now - at) / 1000;
        if (Number.isNaN(at)) continue;
        const [unit, length] = units.find(([, s]) => gone >= s) ?? units[3];
        const n = `${Math.floor(gone / length)} ${unit}`;
        t.title ||= t.textContent + " UTC";
        t.textContent = gone < 5 ? "now" : at > now ? "in " + n : n + " ago";
      }
    };

    // What is new goes into what is shown, node by node: what has the focus keeps it.
    const same = (a, b) => a.nodeName === b.nodeName && (a.id ?? "") === (b.id ?? "");
    const attributes = (from, to) => {
      for (const a of [...from.attributes]) if (!to.hasAttribute(a.name) && a.name !== "open") from.removeAttribute(a.name);
      for (const a of to.attributes) if (from.getAttribute(a.name) !== a.value) from.setAttribute(a.name, a.value);
    };
    const morph = (from, to) => {
      if (from.isEqualNode(to)) return;
      if (from.nodeType !== Node.ELEMENT_NODE) { from.nodeValue = to.nodeValue; return; }
      attributes(from, to);
      const byID = new Map([...from.children].filter((c) => c.id).map((c) => [c.id, c]));
      let at = from.firstChild;
      for (const next of [...to.childNodes]) {
        const old = (next.id && byID.get(next.id)) || (at && same(at, next) ? at : null);
        if (old && same(old, next)) {
          if (old === at) at = at.nextSibling; else from.insertBefore(old, at);
          const is = next.isEqualNode(old);
          morph(old, next);
          if (!is && old.matches?.("tr, .list > li, .tile")) old.classList.add("changed");
        } else {
          const node = from.insertBefore(document.importNode(next, true), at);
          if (node.matches?.("tr, .list > li")) node.classList.add("changed");
        }
      }
      while (at) { const gone = at; at = at.nextSibling; gone.remove(); }
    };
    const settle = () => { for (const e of document.querySelectorAll(".changed, .found, .cell.on")) e.classList.remove("changed", "found", "on"); };

    // The page is read again, and put in place of what is shown. Of several readings the last one counts.
    let reading = 0;
    const read = async (url, flash) => {
      const mine = ++reading;
      const answer = await fetch(url, { headers: { Accept: "text/html" } });
      const text = await answer.text();
      if (mine !== reading) return;
      const next = new DOMParser().parseFromString(text, "text/html");
      if (!next.getElementById("board")) throw new Error(answer.status + " " + answer.statusText);
      ahead = Date.now() - Date.parse(next.body.dataset.now) || 0;
      const now = Date.now() - ahead;
      settle();
      ages(document, now);
      ages(next, now);
      morph(board(), next.getElementById("board"));
      if (!flash) settle();
      document.body.dataset.version = next.body.dataset.version;
      document.title = next.title;
      mark();
    };
    const here = () => location.pathname + location.search;

    // Links to things: one that is not shown is searched for.
    const named = () => { try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; } };
    const mark = () => {
      const thing = document.getElementById(named());
      if (thing && named().includes("/")) thing.classList.add("found");
      return thing;
    };
    const go = async () => {
      const name = named(), slash = name.indexOf("/");
      settle();
      if (slash > 0 && !document.getElementById(name)) {
        search.value = name.slice(slash + 1);
        await find();
      }
      const thing = mark();
      thing?.closest("details")?.setAttribute("open", "");
      thing?.scrollIntoView({ block: "center" });
      if (name && !thing) say(name + " is not on the board");
    };
    addEventListener("hashchange", () => go().catch(lost));

    // The search is that of the URL.
    const find = async () => {
      const url = new URL("./", location.href);
      if (search.value.trim()) url.searchParams.set("q", search.value.trim());
      history.replaceState(null, "", url.pathname + url.search + location.hash);
      await read(here());
    };
    let typing;
    search.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => find().catch(lost), 150); });
    search.form.addEventListener("submit", (e) => {
      e.preventDefault();
      clearTimeout(typing);
      history.replaceState(null, "", here());
      find().catch(lost);
    });
    addEventListener("popstate", () => {
      const q = new URLSearchParams(location.search).get("q") ?? "";
      if (q !== search.value) { search.value = q; read(here()).catch(lost); }
    });
    addEventListener("keydown", (e) => {
      const typed = /^(input|textarea|select)$/i.test(e.target.nodeName);
      if (e.key === "/" && !typed && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); search.focus(); search.select(); }
      if (e.key === "Escape" && (search.value || location.hash)) {
        search.value = "";
        history.replaceState(null, "", location.pathname);
        find().catch(lost);
      }
    });

    // Maps of pools: the cell under the pointer, or that the arrow keys have reached, is said below the map.
    const tell = (cell) => {
      const map = cell.parentElement, scale = map.nextElementSibling;
      map.querySelector(".on")?.classList.remove("on");
      cell.classList.add("on");
      scale.textContent = cell.title;
    };
    document.addEventListener("pointerover", (e) => { if (e.target.matches?.(".cells > .cell")) tell(e.target); });
    document.addEventListener("keydown", (e) => {
      const map = e.target.closest?.(".cells");
      if (!map) return;
      const cells = [...map.children], at = cells.findIndex((c) => c.classList.contains("on"));
      const row = cells.filter((c) => c.offsetTop === cells[0].offsetTop).length;
      const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -row, ArrowDown: row }[e.key];
      if (step) { e.preventDefault(); tell(cells[Math.max(0, Math.min(cells.length - 1, at < 0 ? 0 : at + step))]); }
      if (e.key === "Enter" && at >= 0 && cells[at].href) location.href = cells[at].href;
    });

    // Commands are copied.
    document.addEventListener("click", (e) => {
      const button = e.target.closest?.(".copy");
      if (!button) return;
      const done = (text) => { button.textContent = text; setTimeout(() => { button.textContent = "Copy"; }, 1500); };
      const select = () => {
        getSelection().selectAllChildren(button.previousElementSibling);
        done("Selected");
      };
      (navigator.clipboard?.writeText(button.dataset.copy) ?? Promise.reject()).then(() => done("Copied"), select);
    });

    // Light and dark.
    const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    document.getElementById("theme").addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      try { localStorage.setItem("theme", root.dataset.theme); } catch { /* it is forgotten with the page */ }
    });

    // Changes: the server says which version it has, and the page is read again if it shows another one. A page that nobody sees follows none.
    const lost = () => say("Not connected");
    let behind = false, busy = false;
    const update = async () => {
      behind = true;
      if (busy) return;
      busy = true;
      try {
        while (behind) { behind = false; await read(here(), true); }
        say("Live", true);
      } catch { lost(); } finally { busy = false; }
    };
    let events;
    const follow = () => {
      events?.close();
      if (document.hidden) return;
      events = new EventSource("events");
      events.addEventListener("board", (e) => {
        if (e.data !== document.body.dataset.version) update(); else say("Live", true);
      });
      events.onerror = () => {
        lost();
        if (events.readyState === EventSource.CLOSED) setTimeout(follow, 10000);
      };
    };
    document.addEventListener("visibilitychange", follow);

    ages(document, Date.now() - ahead);
    setInterval(() => ages(document, Date.now() - ahead), 10000);
    go().catch(lost);
    follow();
  });
})();
