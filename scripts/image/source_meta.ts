/**
 * Stands for `import.meta` of a source in the bundle: `url`, `filename` and `dirname` are those of the source, beside its
 * data; `resolve` finds modules in the bundle.
 * @param path of the source from the project's folder, such as `domain/job_types.ts`
 * @param root path to the project's folder from the bundle's, such as `..`
 */
export function sourceMeta(path: string, root: string, bundled: ImportMeta): Partial<ImportMeta> {
  const url = new URL(`${root}/${path}`, bundled.url);
  return {
    main: bundled.main,
    url: url.href,
    filename: url.pathname,
    dirname: new URL(".", url).pathname.slice(0, -1),
    resolve(specifier) {
      if (!specifier.startsWith(".")) return bundled.resolve(specifier);
      const [, module = ""] = /(.*)\.tsx?$/.exec(new URL(specifier, `file:///${path}`).pathname.slice(1)) ??
        [];
      return new URL(bundledName(module), bundled.url).href;
    },
  };
}

/** The file of a module in the bundle: all are in one folder. */
export const bundledName = (module: string): string => `${module.replaceAll("/", ".")}.js`;
