import { fork } from "node:child_process";
import { once } from "node:events";

/** A separate process for work that must not be measured. */
export interface OtherProcess<Order> {
  /** Sends an order; one at a time. @throws {Error} with the other process's reason. */
  ask(order: Order): Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts a program that calls `answerOrders`. */
export function startOtherProcess<Order>(program: URL): OtherProcess<Order> {
  const child = fork(program, { execArgv: ["--import", "tsx"] });
  async function ask(order: Order | { readonly name: "stop" }): Promise<unknown> {
    const answered = once(child, "message");
    child.send(order as object);
    const [reply] = (await answered) as [{ readonly answer?: unknown; readonly failure?: string }];
    if (reply.failure !== undefined) throw new Error(reply.failure);
    return reply.answer;
  }
  return {
    ask,
    async stop() {
      const ended = once(child, "exit");
      await ask({ name: "stop" });
      child.disconnect();
      await ended;
    },
  };
}

/** Answers the orders of the parent process. */
export function answerOrders(obey: (order: never) => Promise<unknown>): void {
  process.on("message", (order) => {
    void obey(order as never).then(
      (answer) => process.send?.({ answer }),
      (error: unknown) => process.send?.({ failure: String(error) }),
    );
  });
}
