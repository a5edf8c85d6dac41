/** Creates an element. `text` is never parsed as HTML. */
export function element(name, { className, text, attributes = {} } = {}, children = []) {
  const made = document.createElement(name);
  if (className !== undefined) made.className = className;
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Sets text only if it differs, so as not to disturb a selection or a screen reader. */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/**
 * Shows one child of `parent` for each item, in order. Keeps the child of an item's key and redraws it only if the item
 * changed, so that whatever the visitor opened or selected in the others stays.
 */
export function showList(parent, items, keyOf, draw) {
  const kept = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = String(keyOf(item));
    const state = JSON.stringify(item);
    const child = kept.get(key);
    kept.delete(key);
    const drawn = child?.dataset.state === state ? child : draw(item, child);
    drawn.dataset.key = key;
    drawn.dataset.state = state;
    // Inserting a node again would restart its animation and lose its focus.
    if (drawn === place) place = place.nextElementSibling;
    else parent.insertBefore(drawn, place);
    if (child === undefined || child === drawn) continue;
    if (child === place) place = place.nextElementSibling;
    child.remove();
  }
  for (const child of kept.values()) child.remove();
}
