import { responsiveTimeout } from "../src/http/redis.js";

/** What comes of this, unless it takes longer than a second; the time that this process is busy with other things is none. */
export async function withinASecond<T>(work: () => Promise<T>): Promise<T> {
  let callOff: (() => void) | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    callOff = responsiveTimeout(1000, () => reject(new Error("it took longer than a second")));
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    callOff?.();
  }
}
