const SLICES = 5;

/**
 * Calls back after so many milliseconds in which this process listened, and returns what calls it off. A process that is
 * busy hears nothing, however soon the other side has answered: what it does in one go counts as a fifth at most.
 */
export function afterAwake(ms: number, callback: () => void): () => void {
  let left = SLICES;
  let timer = setTimeout(tick, ms / SLICES);
  function tick(): void {
    left -= 1;
    if (left === 0) callback();
    else timer = setTimeout(tick, ms / SLICES);
  }
  return () => clearTimeout(timer);
}
