import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { listen, type ListenAddress } from "../../src/http/listen.js";

const other = createServer();
let taken = 0;

beforeAll(async () => {
  other.listen(0, "127.0.0.1");
  await once(other, "listening");
  taken = (other.address() as AddressInfo).port;
});
afterAll(() => {
  other.close();
});

test.each<[string, () => ListenAddress, RegExp]>([
  [
    "a port in use",
    () => ({ host: "127.0.0.1", port: taken, key: "server.port" }),
    /^port \d+ is in use: .* set server\.port to a free port$/,
  ],
  [
    "a port for metrics in use",
    () => ({ host: "127.0.0.1", port: taken, key: "server.metrics_port" }),
    /^port \d+ is in use: .* set server\.metrics_port to a free port$/,
  ],
  [
    "an address of another machine",
    () => ({ host: "192.0.2.1", port: 0, key: "server.port" }),
    /^this machine has no address 192\.0\.2\.1: correct server\.host$/,
  ],
])("%s is reported with the setting", async (_what, address, message) => {
  await expect(listen(createServer(), address())).rejects.toMatchObject({
    name: "CannotStart",
    message: expect.stringMatching(message),
  });
});
