import { countAnswers, countChanges, showAnswer } from "./answer-line.js";
import { showCluster } from "./cluster-view.js";
import { setText } from "./dom.js";
import { showChips, showPages, showRequestList, showScenes, showTabs } from "./navigation.js";
import { showRequest } from "./request-view.js";

const byId = (id) => document.getElementById(id);

/** What the visitor is looking at. */
const view = { host: "hosta", number: new Map() };
/** The newest snapshot from the server. */
let snapshot = { phase: "starting", hosts: [] };
/** The state before the visitor's last action, if its result is still of interest. */
let awaited;

function draw() {
  const { phase, problem, hosts } = snapshot;
  byId("panel").classList.toggle("waiting", phase !== "ready");
  byId("panel").inert = phase !== "ready";
  if (phase !== "ready") {
    showBanner(problem ?? "Starting over: new repositories, a new cluster. This takes a few seconds …");
    return;
  }
  const { host, request } = current();
  showTabs(hosts, view.host, chooseHost);
  showPages(snapshot.pages);
  showScenes(host, openScene);
  showRequestList(host, request, (number) => look(host.id, number));
  showRequest(host, request);
  showCluster(host);
  showChips(request);
  showAnswer(host, request, awaited);
}

function chooseHost(id) {
  view.host = id;
  awaited = undefined;
  draw();
}

function look(host, number) {
  view.number.set(host, number);
  awaited = undefined;
  draw();
}

function current() {
  const host = snapshot.hosts.find(({ id }) => id === view.host);
  const wanted = view.number.get(host?.id);
  return { host, request: host?.requests.find(({ number }) => number === wanted) ?? host?.requests[0] };
}

/** Records the current state, so that the answer line can report what changed, and then acts. */
async function postAndAwait(act, values) {
  const { host, request } = current();
  awaited = {
    answers: countAnswers(request),
    changes: countChanges(host),
    merged: request.state === "merged",
    sent: false,
  };
  const mine = awaited;
  draw();
  const done = await post(act, values);
  mine.sent = true;
  if (done === undefined && awaited === mine) awaited = undefined;
  draw();
  return done;
}

async function post(act, values = {}) {
  let response;
  try {
    response = await fetch(`/api/${act}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(values),
    });
  } catch {
    return showBanner(
      "The demo does not answer. Is it still running in the terminal? Start it again with npm run demo.",
    );
  }
  const answer = await response.json().catch(() => ({ error: `The demo answered ${response.status}.` }));
  if (!response.ok) return showBanner(answer.error);
  hideBanner();
  return answer;
}

function showBanner(text) {
  const banner = byId("banner");
  banner.hidden = false;
  setText(banner, text);
  return undefined;
}

function hideBanner() {
  byId("banner").hidden = true;
}

function onCurrent() {
  const { host, request } = current();
  return { host: host.id, number: request.number };
}

byId("composer").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (awaited?.sent === false) return;
  const body = byId("body").value;
  if (body.trim() === "") {
    showBanner("Write a comment first, for example svc plan.");
    return;
  }
  const done = await postAndAwait("comment", { ...onCurrent(), by: byId("by").value, body });
  if (done !== undefined) byId("body").value = "";
});

byId("body").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  byId("composer").requestSubmit();
});

byId("approve").addEventListener("click", () => {
  awaited = undefined;
  return post("approve", onCurrent());
});

byId("push").addEventListener("click", () => postAndAwait("push", onCurrent()));

async function openScene(host, scene) {
  const opened = await post("open", { host, scene });
  if (opened !== undefined) look(host, opened.number);
}

byId("reset").addEventListener("click", async () => {
  view.number.clear();
  awaited = undefined;
  snapshot = { phase: "starting", hosts: [] };
  draw();
  await post("reset");
});

byId("tabs").addEventListener("keydown", (event) => {
  if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
  event.preventDefault();
  const other = snapshot.hosts.find(({ id }) => id !== view.host);
  if (other === undefined) return;
  chooseHost(other.id);
  byId(`tab-${other.id}`).focus();
});

/** Scrolls to a new comment of the visible conversation. */
function follow(before) {
  const { request } = current();
  const last = byId("comments").lastElementChild;
  if (awaited === undefined || last === null || request.comments.length <= before) return;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  last.scrollIntoView({ block: "start", behavior: calm ? "auto" : "smooth" });
}

const events = new EventSource("/api/events");
events.addEventListener("message", ({ data }) => {
  const before = current().request?.comments.length ?? 0;
  const wasAway = snapshot.phase !== "ready" || byId("banner").dataset.lost === "yes";
  snapshot = JSON.parse(data);
  if (wasAway && snapshot.phase === "ready") {
    hideBanner();
    delete byId("banner").dataset.lost;
  }
  draw();
  if (snapshot.phase === "ready") follow(before);
});
events.addEventListener("problem", ({ data }) => showBanner(`The demo has a problem: ${JSON.parse(data)}`));
events.addEventListener("error", () => {
  byId("banner").dataset.lost = "yes";
  showBanner(
    "The demo does not answer. Is it still running in the terminal? Start it again with npm run demo; this page finds it by itself.",
  );
});
