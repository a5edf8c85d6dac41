const AWAKE_SLICES = 5;

/**
 * Calls back after `ms` in which this process could receive data, and returns a function that cancels the call. A busy
 * process receives nothing, however soon the other side answers, so each uninterrupted stretch of work counts as at most
 * a fifth of the time.
 */
export function afterAwake(ms: number, callback: () => void): () => void {
  let left = AWAKE_SLICES;
  let timer = setTimeout(tick, ms / AWAKE_SLICES);
  function tick(): void {
    left -= 1;
    if (left === 0) callback();
    else timer = setTimeout(tick, ms / AWAKE_SLICES);
  }
  return () => clearTimeout(timer);
}
