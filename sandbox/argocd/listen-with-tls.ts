import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import type { LoopbackServer } from "../loopback.js";
import { selfSignedCertificate } from "./self-signed.js";

/** Serves https on a free port of 127.0.0.1 with a certificate made for the purpose. */
export async function listenWithTls(listener: RequestListener): Promise<LoopbackServer> {
  const server = createServer(selfSignedCertificate(new Date()), listener);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port");
  return {
    url: `https://127.0.0.1:${address.port}`,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
