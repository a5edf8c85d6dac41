import { refresh } from "./refresh.js";

/** Shows the progress of the commands of this change request, and refreshes the page when one finishes. */
const box = document.querySelector("[data-live]");
const WORDS = {
  waiting: "waiting",
  running: "running",
  succeeded: "succeeded",
  failed: "failed",
  unknown: "outcome unknown",
};
const TONES = { succeeded: "good", failed: "bad", unknown: "attention" };

const source = new EventSource(box.dataset.live);
source.addEventListener("run", (event) => {
  const run = JSON.parse(event.data);
  show(run);
  if (run.ended) void refresh("head", "state", "plan");
});
let opened = false;
source.addEventListener("open", () => {
  // After a reconnect: nobody reports what finished meanwhile; what still runs is reported right after this.
  if (opened) {
    box.hidden = true;
    void refresh("head", "state", "plan");
  }
  opened = true;
});
addEventListener("pagehide", () => source.close());

function show(run) {
  const name = run.command === "plan" ? "A plan" : run.command === "sync" ? "A sync" : "A rollback";
  const title = element("h2", `${name} ${run.ended ? "has finished" : "is running"}`);
  const list = element("ul", "", { className: "plain" });
  list.append(...run.applications.map(item));
  box.hidden = false;
  box.classList.toggle("ended", run.ended);
  box.replaceChildren(title, ...(run.applications.length === 0 ? [] : [list]));
}

function item({ application, state, done, total, message }) {
  const one = element("li", "");
  one.append(
    element("strong", application),
    " ",
    element("span", WORDS[state], { className: `badge ${TONES[state] ?? ""}` }),
  );
  if (state === "running" && total > 0) {
    const bar = element("progress", "", { max: total, value: done });
    bar.setAttribute("aria-label", `${application}: ${done} of ${total} resources`);
    one.append(" ", bar, ` ${done} of ${total} resources`);
  }
  if (message) one.append(" ", element("span", message, { className: "soft" }));
  return one;
}

function element(name, text, properties = {}) {
  return Object.assign(document.createElement(name), { textContent: text, ...properties });
}
