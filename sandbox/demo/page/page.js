import { showCluster } from "./cluster-view.js";
import { element, setText, showList } from "./dom.js";
import { showRequest } from "./request-view.js";

const byId = (id) => document.getElementById(id);

/** What the visitor looks at. */
const view = { host: "hosta", number: new Map() };
/** The newest snapshot from the server, and what was on the page before it. */
let snapshot = { phase: "starting", hosts: [] };
let awaited;

function draw() {
  const { phase, problem, hosts } = snapshot;
  byId("panel").classList.toggle("waiting", phase !== "ready");
  byId("composer").inert = phase !== "ready";
  if (phase !== "ready") {
    showBanner(problem ?? "Starting over: new repositories, a new cluster. This takes a few seconds …");
    return;
  }
  const host = hosts.find(({ id }) => id === view.host);
  drawTabs(hosts);
  const wanted = view.number.get(host.id);
  const request = host.requests.find(({ number }) => number === wanted) ?? host.requests[0];
  drawRequestList(host, request);
  showRequest(host, request);
  showCluster(host);
  drawChips(host);
  drawAnswer(host, request);
}

function drawTabs(hosts) {
  const items = hosts.map(({ id, title, repository, working }) => ({
    id,
    title,
    repository,
    working,
    chosen: id === view.host,
  }));
  const focused = document.activeElement?.getAttribute("role") === "tab";
  showList(
    byId("tabs"),
    items,
    ({ id }) => id,
    ({ id, title, repository, working, chosen }) => {
      const tab = element(
        "button",
        {
          attributes: {
            type: "button",
            role: "tab",
            id: `tab-${id}`,
            "aria-selected": String(chosen),
            "aria-controls": "panel",
            tabindex: chosen ? "0" : "-1",
          },
        },
        [
          element("strong", { text: title }),
          element("span", { text: repository }),
          ...(working
            ? [element("span", { className: "spinner", attributes: { "aria-label": "svc is working" } })]
            : []),
        ],
      );
      tab.addEventListener("click", () => choose(id));
      return tab;
    },
  );
  if (focused) byId(`tab-${view.host}`).focus();
  byId("panel").setAttribute("aria-labelledby", `tab-${view.host}`);
}

function choose(id) {
  view.host = id;
  awaited = undefined;
  draw();
}

function drawRequestList({ requests, sigil, id }, chosen) {
  const box = byId("request-list");
  box.hidden = requests.length < 2;
  const items = requests.map(({ number, title, state }) => ({
    number,
    title,
    state,
    sigil,
    chosen: number === chosen.number,
  }));
  showList(
    box,
    items,
    ({ number }) => `${id}-${number}`,
    ({ number, title, state, chosen: isChosen }) => {
      const button = element("button", { attributes: { type: "button", "aria-pressed": String(isChosen) } }, [
        element("strong", { text: `${sigil}${number}` }),
        ` ${title} `,
        element("span", { className: `badge ${state}`, text: state }),
      ]);
      button.addEventListener("click", () => {
        view.number.set(id, number);
        awaited = undefined;
        draw();
      });
      return button;
    },
  );
}

function drawChips({ applications }) {
  const [first] = applications;
  const commands = [
    "svc plan",
    "svc sync --dry-run",
    `svc sync -a ${first.name}`,
    "svc rollback",
    "svc sync",
    "svc unlock",
    "svc help",
  ];
  const items = commands.map((command) => ({ command }));
  showList(
    byId("chips"),
    items,
    ({ command }) => command,
    ({ command }) => {
      const chip = element("button", { className: "chip", text: command, attributes: { type: "button" } });
      chip.addEventListener("click", () => {
        byId("body").value = command;
        byId("body").focus();
      });
      return chip;
    },
  );
}

/** Says below the conversation what the service is doing, and what came of it. */
function drawAnswer(host, request) {
  const line = byId("answer");
  const changed = awaited === undefined ? 0 : countChanges(host) - awaited.changes;
  const objects = `${changed} live ${changed === 1 ? "object" : "objects"} changed`;
  const busy = host.working || awaited?.sent === false;
  line.classList.toggle("busy", busy);
  if (busy) {
    setText(line, changed === 0 ? "svc is working …" : `svc is working … ${objects}`);
    return;
  }
  const words = awaited === undefined ? nextStep(host, request) : outcome(request);
  if (changed === 0) setText(line, words);
  else
    line.replaceChildren(
      `${words} `,
      element("a", { text: `${objects} in the cluster`, attributes: { href: "#cluster-title" } }),
    );
}

function outcome(request) {
  if (countAnswers(request) === awaited.answers) {
    return "svc had nothing to say: only a comment that begins with svc is a command.";
  }
  return `svc answered${request.state === "merged" && !awaited.merged ? " and merged" : ""}.`;
}

function nextStep(host, { state, approval, approver }) {
  if (state !== "open") return `This ${host.noun} is ${state}. Open another one, or start over.`;
  if (approval?.current === true) return "Approved: svc sync may deploy now.";
  return `Click a command or type one, then press Enter. svc sync needs ${approver}'s approval.`;
}

function countChanges({ applications }) {
  return applications.flatMap(({ objects }) => objects).reduce((sum, { changes }) => sum + changes, 0);
}

function countAnswers({ comments }) {
  return comments.filter(({ service }) => service).length;
}

function current() {
  const host = snapshot.hosts.find(({ id }) => id === view.host);
  const wanted = view.number.get(host?.id);
  return { host, request: host?.requests.find(({ number }) => number === wanted) ?? host?.requests[0] };
}

/** Remembers where things stand, so that the answer line can tell what an act did; then acts. */
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
  const body = byId("body").value;
  if (body.trim() === "") {
    showBanner("Write a comment first, for instance svc plan.");
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

byId("open").addEventListener("click", async () => {
  const { host } = current();
  const opened = await post("open", { host: host.id });
  if (opened === undefined) return;
  view.number.set(host.id, opened.number);
  awaited = undefined;
  draw();
});

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
  choose(other.id);
  byId(`tab-${other.id}`).focus();
});

/** A new comment of the conversation that is on the page comes into view. */
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
