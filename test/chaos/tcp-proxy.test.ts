import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { expect, test } from "@jest/globals";
import { TcpProxy } from "./tcp-proxy.js";

test("what is on its way when a slow spell ends is not overtaken by what comes after it", async () => {
  const server = createServer((socket) => socket.pipe(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy = await TcpProxy.start((server.address() as AddressInfo).port);
  const client = connect(proxy.port, "127.0.0.1");
  proxy.weather = { delayMs: 50, closed: false };
  proxy.ambushes.add({
    on: /first/,
    act: () => {
      setImmediate(() => {
        proxy.clear();
        client.write("second");
      });
      return true;
    },
  });
  client.write("first ");
  let heard = "";
  client.on("data", (chunk: Buffer) => (heard += chunk.toString()));
  while (heard.length < "first second".length) await once(client, "data");
  expect(heard).toBe("first second");
  client.destroy();
  await proxy.stop();
  server.close();
});
