/**
 * A module of the build (`npm run build`), which is what people run. The source through tsx is slower: it names each
 * function anew whenever one is made.
 * @param path below `src`, with the extension `.js`.
 */
export async function builtModule<Module>(path: string): Promise<Module> {
  return (await import(new URL(`../dist/${path}`, import.meta.url).href)) as Module;
}
