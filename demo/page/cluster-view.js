import { element, showList } from "./dom.js";

const byId = (id) => document.getElementById(id);

/** Draws the live objects of a host's applications, and their locks. */
export function showCluster(host) {
  const lockOf = (name) => host.locks.find(({ application }) => application === name);
  const applications = host.applications.map((one) => ({ ...one, lock: lockOf(one.name), sigil: host.sigil }));
  showList(byId("applications"), applications, ({ name }) => `${host.id}-${name}`, drawApplication);
  byId("no-locks").hidden = host.locks.length > 0;
  showList(
    byId("locks"),
    host.locks.map((lock) => ({ ...lock, sigil: host.sigil })),
    ({ application }) => application,
    ({ application, sigil, number, user }) =>
      element("li", {}, [element("strong", { text: application }), ` by ${sigil}${number} (${user})`]),
  );
}

function drawApplication(application, old) {
  const { name, sync, syncing, objects } = application;
  const state = syncing ? "syncing" : sync === "Synced" ? "in-step" : "behind";
  const drawn =
    old ??
    element("article", { attributes: { "aria-label": `Application ${name}` } }, [element("header"), element("div")]);
  drawn.className = `application ${state}`;
  drawn.firstElementChild.replaceChildren(...headingOf(application, state));
  showList(drawn.lastElementChild, objects, ({ id }) => id, drawObject);
  return drawn;
}

function headingOf({ name, kind, sync, health, revision, lock, sigil }, state) {
  const words = { syncing: "syncing …", "in-step": "matches main", behind: "differs from main" };
  const title = `Argo CD says: ${sync}, ${health}`;
  return [
    element("h3", { text: name }),
    element("span", { className: "hint", text: kind }),
    element("span", { className: `badge ${state}`, text: words[state], attributes: { title } }),
    ...(lock === undefined
      ? []
      : [element("span", { className: "badge locked", text: `locked by ${sigil}${lock.number}` })]),
    element("span", { className: "hint at" }, ["commit ", element("code", { text: revision })]),
  ];
}

function drawObject({ kind, name, changes, facts, yaml }, old) {
  const before = Number(old?.dataset.changes ?? changes);
  const made = element("div", { className: `object${changes > before ? " flash" : ""}` }, [
    element("details", {}, [
      element("summary", {}, [element("strong", { text: kind }), ` ${name}`]),
      element("pre", {}, [element("code", { text: yaml })]),
    ]),
    element("dl", {}, facts.flatMap(drawFact)),
  ]);
  made.addEventListener("animationend", () => made.classList.remove("flash"));
  made.dataset.changes = String(changes);
  if (old?.querySelector("details")?.open) made.querySelector("details").open = true;
  return made;
}

function drawFact({ name, value, was }) {
  const shown = element("dd", {}, []);
  if (was === undefined) {
    shown.append(value);
  } else {
    shown.className = "changed";
    if (was !== null) shown.append(element("del", { text: was }), " ");
    shown.append(element("ins", { text: value }));
  }
  return [element("dt", { text: name }), shown];
}
