import type { Response } from "express";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import type { LiveFeed, LiveRun } from "../core/ports/live-feed.js";

export interface LiveStreamsOptions {
  /** Open streams in total, and per listener. */
  readonly most?: number;
  readonly mostEach?: number;
  /** Milliseconds between two heartbeats. */
  readonly heartbeatMs?: number;
  /** A stream ends after this many milliseconds; the browser reconnects and is authenticated again. */
  readonly lifetimeMs?: number;
  /** Milliseconds between two messages: a run of many applications reports more often than anyone reads. */
  readonly paceMs?: number;
}

/** A client that does not read is disconnected after this many buffered bytes. */
const MOST_UNREAD = 1024 * 1024;

/** The open streams of server-sent events, limited in number. */
export class LiveStreams {
  readonly #feed: LiveFeed;
  readonly #options: Required<LiveStreamsOptions>;
  readonly #open = new Map<Response, string>();

  constructor(feed: LiveFeed, options: LiveStreamsOptions = {}) {
    this.#feed = feed;
    this.#options = { most: 500, mostEach: 20, heartbeatMs: 20_000, lifetimeMs: 300_000, paceMs: 250, ...options };
  }

  /** Streams the progress of a change request until the client disconnects; false, with nothing written, if too many streams are open. */
  open(
    change: ChangeRequestRef,
    response: Response,
    { listener, withMessages }: { readonly listener: string; readonly withMessages: boolean },
  ): boolean {
    const { most, mostEach, heartbeatMs, lifetimeMs, paceMs } = this.#options;
    const own = [...this.#open.values()].filter((one) => one === listener).length;
    if (this.#open.size >= most || own >= mostEach) return false;
    this.#open.set(response, listener);
    response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      // Without it, proxies such as nginx buffer the events.
      "x-accel-buffering": "no",
    });
    const write = (text: string) => {
      if (response.writableEnded) return;
      if (response.writableLength > MOST_UNREAD) response.destroy();
      else response.write(text);
    };
    write("retry: 3000\n\n");
    const paced = pace(paceMs, (run) => {
      write(`event: run\ndata: ${JSON.stringify(liveRunBody(run, withMessages))}\n\n`);
    });
    const leave = this.#feed.subscribe(change, (run) => paced.send(run));
    const heartbeat = setInterval(() => {
      write(": still here\n\n");
    }, heartbeatMs);
    const lifetime = setTimeout(() => response.end(), lifetimeMs);
    response.on("close", () => {
      clearInterval(heartbeat);
      clearTimeout(lifetime);
      paced.stop();
      leave();
      this.#open.delete(response);
    });
    return true;
  }

  close(): void {
    for (const response of this.#open.keys()) response.end();
  }
}

/** Passes on the newest run at most once per `ms`; the end of a run is sent at once. */
function pace(ms: number, write: (run: LiveRun) => void) {
  let waiting: LiveRun | undefined;
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    timer = undefined;
    if (waiting === undefined) return;
    write(waiting);
    waiting = undefined;
    timer = setTimeout(flush, ms);
  };
  return {
    send(run: LiveRun) {
      waiting = run;
      if (run.ended) clearTimeout(timer);
      if (run.ended || timer === undefined) flush();
    },
    stop() {
      clearTimeout(timer);
      waiting = undefined;
    },
  };
}

function liveRunBody({ runId, command, startedAt, applications, ended }: LiveRun, withMessages: boolean) {
  return {
    runId,
    command,
    startedAt,
    ended,
    applications: applications.map((one) => applicationBody(one, withMessages)),
  };
}

function applicationBody({ application, phase }: LiveRun["applications"][number], withMessages: boolean) {
  switch (phase.kind) {
    case "waiting":
      return { application, state: "waiting" };
    case "running": {
      const { done, total, message } = phase;
      return { application, state: "running", done, total, message: withMessages ? message : "" };
    }
    case "ended":
      return { application, state: phase.outcome };
  }
}
