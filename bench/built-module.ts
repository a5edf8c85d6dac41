/**
 * Loads a module of the build (`npm run build`), which is what users run. The source through tsx is slower, because tsx
 * names each function whenever it is created.
 * @param path below `src`, with the extension `.js`.
 */
export async function builtModule<Module>(path: string): Promise<Module> {
  return (await import(new URL(`../dist/${path}`, import.meta.url).href)) as Module;
}
