/** The promise goes on, and may serve a later request. */
export class TooSlow extends Error {
  override readonly name = "TooSlow";
}

/** @throws {TooSlow} if there is no answer within `ms` milliseconds; otherwise what the answer throws. */
export function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = new TooSlow(`no answer within ${ms / 1000} seconds`);
    const timer = setTimeout(() => reject(late), ms);
    answer.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}
