import type { IncomingHttpHeaders } from "node:http";
import { listenOnLoopback } from "../../sandbox/loopback.js";
import { SECRET, type Bot } from "../scenarios/bot.js";

/** One delivery as it went over the wire. */
export interface Captured {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The sender's headers that belong to one connection and are made anew for each. */
const OF_THE_CONNECTION = ["host", "connection", "content-length", "transfer-encoding", "keep-alive"];

/** A neighbour on the network, between the code host and the service. */
export interface Relay {
  /** Everything that came by, oldest first. */
  readonly captured: readonly Captured[];
  /** Keeps what comes from now on; the code host sees it answered. */
  hold(): void;
  /** Passes on what was kept, in this order of positions (the newest first when absent), and holds nothing any more. */
  release(order?: readonly number[]): Promise<void>;
  /** Sends a delivery to the service, as it was or changed. */
  send(delivery: Captured): Promise<{ readonly status: number; readonly body: unknown }>;
}

const relays = new Map<Bot, { stop(): Promise<void> }>();

/** Stops the relay of a scenario; the scenario's own end comes after it. */
export async function stopRelays(): Promise<void> {
  const all = [...relays.values()];
  relays.clear();
  await Promise.all(all.map((relay) => relay.stop()));
}

/** Puts a neighbour between the code host and the service of a scenario. */
export async function interpose(bot: Bot, more: { readonly signingToken?: string } = {}): Promise<Relay> {
  const target = `${bot.service.url}/webhook/${bot.host}`;
  const captured: Captured[] = [];
  let held: Captured[] | undefined;
  const send = async ({ headers, body }: Captured) => {
    const response = await fetch(target, { method: "POST", headers, body });
    return { status: response.status, body: await response.json() };
  };
  const server = await listenOnLoopback((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => void chunks.push(chunk));
    request.on("end", () => {
      const delivery = { headers: plain(request.headers), body: Buffer.concat(chunks).toString("utf8") };
      captured.push(delivery);
      const answered =
        held === undefined ? send(delivery) : Promise.resolve({ status: 200, body: {}, kept: held.push(delivery) });
      void answered.then(
        ({ status, body }) =>
          response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
        () => response.destroy(),
      );
    });
  });
  relays.set(bot, server);
  bot.forge.connect({ url: `${server.url}/webhook/${bot.host}`, secret: SECRET, ...more });
  return {
    captured,
    hold() {
      held = [];
    },
    async release(order) {
      const kept = held ?? [];
      held = undefined;
      for (const index of order ?? [...kept.keys()].reverse()) {
        const delivery = kept[index];
        if (delivery === undefined) throw new Error(`only ${kept.length} deliveries were kept`);
        await send(delivery);
        await bot.idle();
      }
    },
    send,
  };
}

function plain(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === "string" && !OF_THE_CONNECTION.includes(name) ? [[name, value]] : [],
    ),
  );
}
