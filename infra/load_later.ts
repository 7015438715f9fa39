/** The modules that are asked for in this turn. Modules belong to the process, not to an instance of the service. */
const asked = new Set<string>();
let loading: Promise<void> | undefined;

/**
 * Loads a module when it is needed: `loadLater<typeof import(PATH)>(import.meta, PATH)`. The modules that a literal
 * `import()` names are read at the start, with all that they import. Modules that are asked for at once are loaded by one
 * import, because each further import walks through all modules that are loaded.
 */
export async function loadLater<M>({ resolve }: Pick<ImportMeta, "resolve">, path: string): Promise<M> {
  const url = resolve(path);
  asked.add(url);
  await (loading ??= loadAsked());
  return await import(url);
}

async function loadAsked(): Promise<void> {
  await Promise.resolve(); // others may ask in the same turn
  loading = undefined;
  const imports = [...asked].map((url) => `import ${JSON.stringify(url)};`);
  asked.clear();
  // The import of the module that failed tells the reason.
  if (imports.length > 1) {
    await import(`data:text/javascript,${encodeURIComponent(imports.join(""))}`).catch(() => {});
  }
}
