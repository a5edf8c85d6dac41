/** The event was not taken because the service is shutting down. */
export class QueueClosed extends Error {
  override readonly name = "QueueClosed";
  constructor() {
    super("the service is shutting down and takes no more events");
  }
}
