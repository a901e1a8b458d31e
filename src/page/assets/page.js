// Keyboard, search as you type, live lists, texts that are kept, uploads. Every view can be read without it. Addresses
// are relative to the document's base.
"use strict";

const list = document.getElementById("list");
const search = document.getElementById("search");
const memory = document.getElementById("memory");
const editor = document.querySelector("form.edit, form.unsent");
const words = document.body.dataset;
const isField = (element) => element.matches("input, textarea, select");

async function part(address, options) {
  const url = new URL(address, location.href);
  url.searchParams.set("part", "1");
  const answer = await fetch(url, options);
  const text = await answer.text();
  const body = new DOMParser().parseFromString(text, "text/html").body;
  const nodes = [...(body.querySelector("main") ?? body).childNodes];
  if (!answer.ok) throw Object.assign(new Error(`HTTP ${answer.status}`), { nodes, status: answer.status });
  return nodes;
}

// Puts an answer into the list, also one that says what failed; returns whether it did not fail.
async function show(answer) {
  try {
    list.replaceChildren(...(await answer));
    return true;
  } catch (error) {
    if (error.name !== "AbortError") list.replaceChildren(...(error.nodes ?? [String(error)]));
    return false;
  }
}

const link = (text, href) => Object.assign(document.createElement("a"), { textContent: text, href });

function note(id, ...parts) {
  const shown = document.getElementById(id) ?? document.createElement("p");
  shown.id = id;
  shown.setAttribute("role", "status");
  shown.replaceChildren(...parts);
  return shown;
}

async function refresh() {
  const next = await part(location.href);
  const known = new Set([...list.querySelectorAll(".entry")].map((entry) => entry.dataset.id));
  // Whoever reads on below, or goes through it by keys, keeps the place.
  const isBelow = list.querySelectorAll(".sheet").length > 1 || scrollY > list.offsetTop;
  if (isBelow || list.contains(document.activeElement)) {
    const entries = next.flatMap((one) => [...(one.querySelectorAll?.(".entry") ?? [])]);
    const added = entries.filter((entry) => !known.has(entry.dataset.id)).length;
    // Without a fragment: with one, nothing would be loaded.
    const here = location.pathname + location.search;
    if (added) list.before(note("newer", link(`${words.newer} ${added}`, here)));
    return;
  }
  document.getElementById("newer")?.remove();
  const chosen = list.querySelector(".entry.at")?.dataset.id;
  list.replaceChildren(...next);
  for (const entry of list.querySelectorAll(".entry")) {
    if (known.size && !known.has(entry.dataset.id)) entry.classList.add("new");
    if (entry.dataset.id === chosen) entry.classList.add("at");
  }
  watchEnd();
}

// Search as you type: one request at a time matters, the newest.
let asked = null;
let typed = 0;
if (search) {
  search.q.addEventListener("input", () => {
    if (!list?.dataset.search) return;
    const url = new URL(location.href);
    url.searchParams.set("q", search.q.value);
    // Who goes on to another way or filter takes the words along.
    for (const chip of document.querySelectorAll(".ways a, .chosen a, .filter a")) {
      const target = new URL(chip.href);
      target.searchParams.set("q", search.q.value);
      chip.href = target;
    }
    clearTimeout(typed);
    typed = setTimeout(() => {
      history.replaceState(null, "", url);
      asked?.abort();
      asked = new AbortController();
      show(part(url, { signal: asked.signal }));
    }, 60);
  });
  document.addEventListener("click", (event) => event.target.closest("a") && clearTimeout(typed));
  if (list?.dataset.search) {
    search.q.focus();
    // Typed before this script was there.
    const shown = new URLSearchParams(location.search).get("q") ?? "";
    if (search.q.value.trim() !== shown.trim()) search.q.dispatchEvent(new Event("input"));
  }
}

// The timeline goes on by itself and keeps three sheets; what is above them is one click away.
const sheets = 3;
let loading = false;
const end = new IntersectionObserver(async (seen) => {
  const older = list.querySelector(".older");
  if (loading || !older || !seen.some((one) => one.isIntersecting)) return;
  loading = true;
  try {
    const next = await part(older.href);
    older.closest(".turn").remove();
    list.append(...next);
    const all = list.querySelectorAll(".sheet");
    if (all.length > sheets) {
      all[0].remove();
      delete list.dataset.live;
    }
    watchEnd();
  } catch {
    // The link stays: it is tried again where it comes into sight, and by a click.
  } finally {
    loading = false;
  }
}, { rootMargin: "600px" });

function watchEnd() {
  end.disconnect();
  const older = list?.dataset.endless && list.querySelector(".older");
  if (older) end.observe(older);
}
watchEnd();

// Changes by agents, editors and other machines.
if (list?.dataset.live || memory) {
  let events = null;
  let waiting = 0;
  const changed = (after = 100) => {
    clearTimeout(waiting);
    // A list whose beginning was taken away is compared no more.
    const look = async () => (memory ? compare() : list.dataset.live && refresh());
    waiting = setTimeout(() => look().catch(() => document.hidden || changed(5000)), after);
  };
  // A change that this view shows already is not told: its own, or another memory's of the same name.
  const compare = async () => {
    const views = memory.querySelector("nav.views");
    const seen = await part(views.querySelector("[href$='/raw']").href).then(
      (nodes) => nodes.find((one) => one.id === "memory").dataset.seen,
      (error) => { if (error.status !== 404) throw error; },
    );
    if (seen === memory.dataset.seen || document.getElementById("changed")) return;
    // A form that was answered lies at an address that can only be sent to.
    const here = views.querySelector("[aria-current]")?.pathname + location.search;
    const told = note("changed", words.changed, " ", editor ? words.edited : link(words.reload, here));
    told.className = "problem";
    memory.prepend(told);
  };
  const isShown = (id) => !memory || id === memory.dataset.id || id === memory.dataset.stem;
  // A browser has few connections to a host: a tab that nobody sees needs none. What changed meanwhile, or before this
  // view listened, is told as lost, by the number of the state that it was made of.
  const { at } = document.getElementById("main").dataset;
  let again = 0;
  const listen = () => {
    events?.close();
    clearTimeout(again);
    if (document.hidden) return;
    events = new EventSource(at ? `live?at=${at}` : "live");
    events.addEventListener("changed", (event) => JSON.parse(event.data).ids.some(isShown) && changed());
    events.addEventListener("lost", () => changed());
    // A browser goes on by itself where a stream ended, but not where another answer came.
    events.addEventListener("error", () => {
      if (events.readyState === EventSource.CLOSED) again = setTimeout(listen, 5000);
    });
  };
  listen();
  document.addEventListener("visibilitychange", listen);
  addEventListener("pagehide", () => events?.close());
}

// Code in colours: the library comes only where there is code.
if (memory?.querySelector("pre code[class]")) {
  const script = document.createElement("script");
  script.src = "assets/highlight.min.js";
  script.onload = () => {
    for (const code of memory.querySelectorAll("pre code[class]")) {
      const name = code.className.replace("language-", "");
      if (hljs.getLanguage(name)) hljs.highlightElement(code);
    }
  };
  document.head.append(script);
}

// Forms that want to be asked about once more.
document.addEventListener("submit", (event) => {
  const sure = event.target.dataset.sure;
  if (sure && !confirm(sure)) return event.preventDefault();
  sent = event.target;
  // An upload goes on here, and other forms leave the page.
  if (typing.includes(sent)) keep(sent);
  if (sent.getAttribute("action") === "logout") sessionStorage.clear();
});

// Texts that are typed: leaving asks first. What was sent is kept until it is saved: the session may have ended, and the
// server may be away.
let sent = null;
const isRefused = Boolean(editor) && (editor.matches(".unsent") || location.pathname.endsWith("/save"));
const isChanged = (field) => field.value !== field.defaultValue || isRefused;
addEventListener("beforeunload", (event) => {
  if (texts.some((field) => field.form !== sent && isChanged(field))) event.preventDefault();
});
addEventListener("pageshow", () => { sent = null; });
// The form of a memory's text, or those of proposals, by what they are about.
const texts = [...document.querySelectorAll("textarea[name=text]")];
const typing = texts.map((field) => field.form);
const placeOf = (form) => form.action + (form.elements.id ? `?${form.elements.id.value}` : "");
function keep(form) {
  try {
    sessionStorage.setItem(placeOf(form), JSON.stringify([form.seen?.value, form.text.value]));
  } catch {
    // There is no room for it.
  }
}
for (const form of typing.filter((one) => !one.matches(".unsent"))) {
  const [seen, text] = JSON.parse(sessionStorage.getItem(placeOf(form))) ?? [];
  if (text === undefined || text === form.text.value) continue;
  const discard = link(words.discard, location.pathname.replace(/save$/, "edit"));
  discard.addEventListener("click", () => {
    typing.forEach((one) => sessionStorage.removeItem(placeOf(one)));
    sent = form;
  });
  form.prepend(note("restored", words.restored, " ", discard, "."));
  if (form.seen) form.seen.value = seen;
  form.text.value = text;
}
if (memory && !editor && /\/(edit|save)$/.test(document.referrer)) {
  // The form leads here when it is saved.
  sessionStorage.removeItem(`${location.origin}${location.pathname.replace(/\/save$/, "")}/save`);
}

// Import: files or a folder that are chosen or dropped, each file with its path.
const form = document.getElementById("import");
async function send(found) {
  const files = found.filter((one) => !one.path.split("/").some((name) => name.startsWith(".")));
  if (!files.length) return list.replaceChildren(form.dataset.none);
  const url = new URL("import/upload", document.baseURI);
  url.searchParams.set("format", form.format.value);
  let { path: name, file: body } = files[0];
  if (files.length > 1 || name.includes("/")) {
    // The list of paths and sizes as a line, then all bytes one after another.
    const top = name.slice(0, name.indexOf("/") + 1);
    const isFolder = top && files.every((one) => one.path.startsWith(top));
    const paths = files.map((one) => [isFolder ? one.path.slice(top.length) : one.path, one.file.size]);
    name = isFolder ? top.slice(0, -1) : name;
    body = new Blob([JSON.stringify(paths), "\n", ...files.map((one) => one.file)]);
    url.searchParams.set("folder", "1");
  }
  url.searchParams.set("name", name);
  const headers = { "Content-Type": "application/octet-stream", "X-Form-Token": form.dataset.token };
  list.replaceChildren(form.dataset.sending);
  await show(part(url, { method: "POST", headers, body }));
}
async function filesBelow(entry, path = entry.name) {
  if (entry.isFile) return [{ path, file: await new Promise((done, fail) => entry.file(done, fail)) }];
  const reader = entry.createReader();
  const entries = [];
  for (;;) {
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!some.length) break;
    entries.push(...some);
  }
  const found = [];
  for (const one of entries) found.push(...(await filesBelow(one, `${path}/${one.name}`)));
  return found;
}
if (form) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = [...form.files.files, ...form.folder.files];
    send(chosen.map((file) => ({ path: file.webkitRelativePath || file.name, file })));
  });
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
  document.addEventListener("drop", async (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    // Entries are gone after the first wait.
    const dropped = [...event.dataTransfer.items].filter((item) => item.kind === "file").map((item) => {
      const entry = item.webkitGetAsEntry?.();
      return entry ? filesBelow(entry) : { path: item.getAsFile().name, file: item.getAsFile() };
    });
    send((await Promise.all(dropped)).flat());
  });
}
if (list?.querySelector("[data-busy]")) {
  const again = setInterval(async () => {
    const isShown = await show(part(location.href));
    if (!isShown || !list.querySelector("[data-busy]")) clearInterval(again);
  }, 500);
}

// Keyboard.
const keys = document.getElementById("keys");
const keysButton = document.getElementById("keys-button");
if (keysButton) {
  keysButton.hidden = false;
  keysButton.addEventListener("click", () => keys.showModal());
}
let isGoing = false;

function move(step) {
  const entries = [...document.querySelectorAll(".entry")];
  if (!entries.length) return;
  const at = entries.findIndex((entry) => entry.classList.contains("at"));
  const next = entries[Math.min(entries.length - 1, Math.max(0, at + step))];
  entries[at]?.classList.remove("at");
  next.classList.add("at");
  (next.querySelector("h3 a, .about a") ?? next).focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (isField(event.target)) {
    if (event.key === "Escape") event.target.blur();
    if (event.key === "ArrowDown" && event.target === search?.q) move(1);
    return;
  }
  if (!keys || keys.open) return;
  const go = isGoing && document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
  isGoing = event.key === "g" && !isGoing;
  if (go) return go.click();
  if (event.key === "/") {
    event.preventDefault();
    search.q.focus();
    return search.q.select();
  }
  if (event.key === "?") return keys.showModal();
  if (event.key === "j") return move(1);
  if (event.key === "k") return move(-1);
  const chosen = document.querySelector(".entry.at");
  const within = chosen ?? document.querySelector(".entry.item") ?? document;
  const target = within.querySelector(`[data-key="${CSS.escape(event.key)}"]`)
    ?? document.querySelector(`nav.views [data-key="${CSS.escape(event.key)}"]`);
  if (target) {
    event.preventDefault();
    target.click();
  } else if (event.key === "e" && chosen) {
    location.href = `memory/${encodeURIComponent(chosen.dataset.id)}/edit`;
  }
});
