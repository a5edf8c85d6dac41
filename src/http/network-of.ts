import { ipKeyGenerator } from "express-rate-limit";

/**
 * What limits count as one sender: an IPv4 address, or a /56 network of IPv6. The port that some proxies append in
 * `X-Forwarded-For` is dropped: with it, every connection would count as a sender of its own.
 * https://learn.microsoft.com/azure/application-gateway/how-application-gateway-works#modifications-to-the-request
 */
export function networkOf(address = ""): string {
  const [, v6, v4] = /^(?:\[([^\]]+)\]|([\d.]+)):\d+$/.exec(address) ?? [];
  return ipKeyGenerator(v6 ?? v4 ?? address);
}
