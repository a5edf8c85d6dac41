import type { RequestHandler } from "express";
import { readChangeAddress } from "../change-address.js";
import type { LiveStreams } from "../live/live-streams.js";
import { viewerOf } from "../viewer.js";

/** The progress of a change request's commands as server-sent events. */
export function liveRoute(streams: LiveStreams): RequestHandler {
  return (request, response) => {
    const viewer = viewerOf(request);
    response.set("cache-control", "no-store");
    if (viewer.kind === "anonymous") {
      response.status(401).json({ error: viewer.expired ? "Session expired" : "not logged in" });
      return;
    }
    const change = readChangeAddress(request.params);
    if (change === undefined) {
      response.status(404).json({ error: "there is nothing at this address" });
      return;
    }
    const account = viewer.kind === "account" ? viewer.account.id : undefined;
    const opened = streams.open(change, response, {
      listener: account ?? `address ${request.ip ?? ""}`,
      withMessages: account !== undefined,
    });
    if (!opened) {
      response.status(503).set("retry-after", "30").json({ error: "too many open pages; reload this one later" });
    }
  };
}
