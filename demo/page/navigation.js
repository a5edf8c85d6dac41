import { element, showList } from "./dom.js";

const byId = (id) => document.getElementById(id);

/** One tab for each code host. */
export function showTabs(hosts, chosenHost, choose) {
  const items = hosts.map(({ id, title, repository, working }) => ({
    id,
    title,
    repository,
    working,
    chosen: id === chosenHost,
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
  if (focused) byId(`tab-${chosenHost}`).focus();
  byId("panel").setAttribute("aria-labelledby", `tab-${chosenHost}`);
}

/** A button for each change request if there are several. */
export function showRequestList({ requests, sigil, id }, chosen, choose) {
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
      button.addEventListener("click", () => choose(number));
      return button;
    },
  );
}

/** Links to svc's own pages. */
export function showPages(url) {
  const box = byId("pages");
  box.hidden = url === undefined;
  const pages = [
    ["Locks", "/"],
    ["Applications", "/applications"],
    ["Activity", "/activity"],
    ["Status", "/status"],
  ];
  showList(
    box,
    pages.map(([text, path]) => ({ text, href: `${url}${path}` })),
    ({ text }) => text,
    ({ text, href }) => element("a", { text, attributes: { href, target: "_blank", rel: "noopener" } }),
  );
}

/** A button for each thing that a change request can be. */
export function showScenes({ id, sigil, locks, applications }, open) {
  const [{ name: first }] = applications;
  const holder = locks.find(({ application }) => application === first);
  const scenes = [
    ["small", holder === undefined ? "a small change" : `one that waits for ${sigil}${holder.number}`],
    ["danger", "one that deletes a volume"],
    ["secret", "one that changes a Secret"],
    ["failure", "one whose sync fails"],
    ["release", "a release"],
  ];
  showList(
    byId("scene-buttons"),
    scenes.map(([scene, text]) => ({ scene, text, id })),
    ({ scene }) => `${id}-${scene}`,
    ({ scene, text }) => {
      const button = element("button", { className: "chip", text, attributes: { type: "button" } });
      button.addEventListener("click", () => open(id, scene));
      return button;
    },
  );
}

/** Commands that fill the box when clicked. */
export function showChips({ applications, scene }) {
  const [first] = applications;
  const commands = [
    "svc plan",
    "svc sync --dry-run",
    ...(applications.length > 1 ? [`svc sync -a ${first}`] : []),
    ...(scene === "danger" ? ["svc sync --prune"] : []),
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
