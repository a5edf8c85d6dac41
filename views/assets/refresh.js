/** Takes parts of this page, by their ids, from the server anew; what is not there any more becomes empty. */
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
