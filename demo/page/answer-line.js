import { element, setText } from "./dom.js";

const byId = (id) => document.getElementById(id);

/** Shows below the conversation what the service is doing, and the result. */
export function showAnswer(host, request, awaited) {
  const line = byId("answer");
  const changed = awaited === undefined ? 0 : countChanges(host) - awaited.changes;
  const objects = `${changed} live ${changed === 1 ? "object" : "objects"} changed`;
  const busy = host.working || awaited?.sent === false;
  line.classList.toggle("busy", busy);
  if (busy) {
    setText(line, changed === 0 ? "svc is working …" : `svc is working … ${objects}`);
    return;
  }
  const words = awaited === undefined ? nextStep(host, request) : outcome(request, awaited);
  const said = changed === 0 ? words : `${words} ${objects} in the cluster`;
  if (line.textContent === said) return;
  const link = element("a", { text: `${objects} in the cluster`, attributes: { href: "#cluster-title" } });
  line.replaceChildren(...(changed === 0 ? [words] : [`${words} `, link]));
}

function outcome(request, awaited) {
  if (countAnswers(request) === awaited.answers) {
    return "svc did not answer: only a comment that starts with svc is a command.";
  }
  return `svc answered${request.state === "merged" && !awaited.merged ? " and merged" : ""}.`;
}

function nextStep(host, { state, approval, approver }) {
  if (state !== "open") return `This ${host.noun} is ${state}. Open another one or start over.`;
  if (approval?.current === true) return "Approved: svc sync can deploy now.";
  return `Pick a command and press Enter. Deploying requires ${approver}'s approval.`;
}

/** Counts the changes of live objects so far. */
export function countChanges({ applications }) {
  return applications.flatMap(({ objects }) => objects).reduce((sum, { changes }) => sum + changes, 0);
}

/** Counts the service's comments. */
export function countAnswers({ comments }) {
  return comments.filter(({ service }) => service).length;
}
