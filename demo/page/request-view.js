import { element, setText, showList } from "./dom.js";

const byId = (id) => document.getElementById(id);

/** Draws one change request: its facts, its changes and its comments. */
export function showRequest(host, request) {
  setText(byId("request-title"), `${request.title} ${host.sigil}${request.number}`);
  byId("request-facts").replaceChildren(...factsOf(host, request));
  byId("request-status").replaceChildren(...statusOf(request));
  byId("request-page").href = request.page;
  showButtons(request);
  showFiles(request);
  showList(byId("comments"), request.comments, ({ id }) => `${host.id}-${request.number}-${id}`, drawComment);
}

function factsOf(host, { state, author, headBranch, baseBranch, head, mergedBy, branchDeleted, approval, approver }) {
  const approved =
    approval === undefined
      ? element("span", { className: "badge waiting", text: "not approved" })
      : approval.current
        ? element("span", { className: "badge good", text: `approved by ${approval.by}` })
        : element("span", { className: "badge waiting", text: `${approver} approved an older commit` });
  const merged = state === "merged" ? ` Merged by ${isPerson(mergedBy) ? mergedBy : "svc"}` : "";
  const gone = state === "merged" && branchDeleted ? ", branch deleted." : merged === "" ? "" : ".";
  return [
    element("span", { className: `badge ${state}`, text: state }),
    approved,
    element("span", { text: `${author} wants to merge ` }, [
      element("code", { text: headBranch }),
      " into ",
      element("code", { text: baseBranch }),
      ", head ",
      element("code", { text: head }),
      `.${merged}${gone}`,
    ]),
  ];
}

/** The commit status, which branch protection may require. */
function statusOf({ status, state }) {
  if (status === undefined) return [];
  const tones = { success: "good", pending: "waiting", failure: "closed" };
  const text = state === "open" ? status.description : `${status.description} (when it was ${state})`;
  return [
    element("code", { text: "svc/sync" }),
    element("span", { className: `badge ${tones[status.state]}`, text: status.state }),
    element("span", { text }),
  ];
}

function isPerson(login) {
  return ["ana", "bo", "olga"].includes(login);
}

function showButtons({ state, approval, approver }) {
  const isOpen = state === "open";
  const approve = byId("approve");
  setText(approve, `Approve as ${approver}`);
  approve.hidden = !isOpen || approval?.current === true;
  byId("push").disabled = !isOpen;
}

function showFiles({ files }) {
  const box = byId("files");
  setText(box.querySelector("summary"), `${files.length} ${files.length === 1 ? "file" : "files"} changed`);
  showList(
    box.querySelector("div"),
    files,
    ({ path }) => path,
    ({ path, html }) => {
      const code = element("code", { className: "language-diff" });
      code.innerHTML = html; // made by the demo's server, which escapes every line
      return element("div", { className: "file" }, [element("p", { text: path }), element("pre", {}, [code])]);
    },
  );
}

function drawComment({ author, service, html, reactions }, old) {
  const body = element("div", { className: "body" });
  body.innerHTML = html; // sanitised by the demo's server
  for (const details of body.querySelectorAll("details")) {
    // Show new diffs at once; outdated plans stay folded.
    details.open = !details.querySelector("summary").textContent.startsWith("Outdated");
  }
  const name = service ? "svc" : author;
  return element(
    "article",
    {
      className: `comment${service ? " from-svc" : ""}${old === undefined ? " fresh" : ""}`,
      attributes: { "aria-label": `Comment by ${name}` },
    },
    [
      element("header", {}, [
        element("span", { className: "avatar", text: name.slice(0, 1), attributes: { "aria-hidden": "true" } }),
        element("strong", { text: name, attributes: { title: author } }),
        ...(service ? [element("span", { className: "tag", text: "bot" })] : []),
      ]),
      body,
      ...(reactions.length === 0 ? [] : [drawReactions(reactions)]),
    ],
  );
}

const EMOJIS = { eyes: "👀", rocket: "🚀", confused: "😕" };

function drawReactions(reactions) {
  const drawn = reactions.map((name) =>
    element("span", {
      className: "reaction",
      text: EMOJIS[name] ?? name,
      attributes: { role: "img", "aria-label": name, title: `${name}, by svc` },
    }),
  );
  return element("footer", { className: "reactions" }, drawn);
}
