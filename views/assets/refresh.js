/** Replaces parts of this page, by id, with the current ones of the server. Missing parts stay as they are. */
export async function refresh(...ids) {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (answer.redirected) {
    location.assign(answer.url);
    return;
  }
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const id of ids) {
    const old = document.getElementById(id);
    const young = fresh.getElementById(id);
    if (old !== null && young !== null) old.replaceWith(document.adoptNode(young));
  }
}
