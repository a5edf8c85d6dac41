import { refresh } from "./refresh.js";

/** Buttons that change something: they ask for confirmation, call the API and report the result. */
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button[data-method]");
  if (button) void act(button);
});

async function act(button) {
  const { method, path, field, from, form, list, question, why, yes, done } = button.dataset;
  if (form !== undefined && !document.getElementById(form).reportValidity()) return;
  const value = from === undefined ? undefined : document.getElementById(from).value;
  const filled = (text) => text.replace("{value}", value ?? "");
  if (!(await confirmed(filled(question), why, yes))) {
    button.focus();
    return;
  }
  button.disabled = true;
  try {
    const sent = form === undefined ? value && { [field]: value } : fieldsOf(document.getElementById(form), list);
    const headers = sent === undefined ? {} : { "content-type": "application/json" };
    const answer = await fetch(path, { method, headers, ...(sent && { body: JSON.stringify(sent) }) });
    if (answer.ok) {
      await refresh("main");
      say(filled(done), "good");
    } else {
      const { error } = await answer.json();
      say(
        answer.status === 401 ? `${error}. Reload the page to sign in again.` : `Nothing was changed: ${error}`,
        "bad",
      );
    }
  } catch {
    say("The service did not answer. Reload the page to see the current state.", "bad");
  }
  button.disabled = false;
}

/** The fields of a form by name; the one called `list` has several values, separated by spaces, or by commas outside of braces. */
function fieldsOf(form, list) {
  const fields = Object.fromEntries(new FormData(form));
  return { ...fields, [list]: fields[list].split(/\s+|,(?![^{}]*\})/).filter((part) => part !== "") };
}

/** A modal question; Escape says no. */
function confirmed(question, why, yes) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "question");
  dialog.setAttribute("aria-describedby", "why");
  const form = document.createElement("form");
  form.method = "dialog";
  form.append(
    element("h2", question, { id: "question" }),
    element("p", why, { id: "why" }),
    row(
      element("button", "Cancel", { value: "no", className: "quiet" }),
      element("button", yes, { value: "yes", className: "danger" }),
    ),
  );
  dialog.append(form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}

function say(text, tone) {
  const place = document.getElementById("said");
  const message = element("p", text, { className: `said ${tone}`, tabIndex: -1 });
  place.replaceChildren(message);
  // The button that was pressed may be gone.
  message.focus();
}

function row(...children) {
  const one = element("div", "", { className: "choices" });
  one.append(...children);
  return one;
}

function element(name, text, properties) {
  return Object.assign(document.createElement(name), { textContent: text, ...properties });
}
