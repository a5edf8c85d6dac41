/**
 * Loads one of the modules that `npm run build:modules` makes: the code that users run, before it is bundled. The source
 * through tsx is slower, because tsx names each function whenever it is created.
 * @param path below `src`, with the extension `.js`.
 */
export async function builtModule<Module>(path: string): Promise<Module> {
  return (await import(new URL(`../build/${path}`, import.meta.url).href)) as Module;
}
