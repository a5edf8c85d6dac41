import type { Forge } from "../sandbox/forge.js";
import type { Service } from "../src/service/service.js";

/** Until no webhook is on its way and nothing runs in the service. */
export async function untilIdle(
  forge: Pick<Forge, "deliveries" | "idle">,
  service: Pick<Service, "idle">,
): Promise<void> {
  let seen = -1;
  while (seen !== forge.deliveries.length) {
    seen = forge.deliveries.length;
    await forge.idle();
    await service.idle();
    await forge.idle();
  }
}
