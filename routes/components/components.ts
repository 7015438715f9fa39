const NAMES = ["steward-inbox", "steward-preferences", "steward-upload", "steward-sessions"];

const source = (name: string): string => Deno.readTextFileSync(new URL(`./${name}.js`, import.meta.url));

/** The script of a component: the shared module, then its own, in one. */
function script(name: string): string {
  const own = source(name).replace(/^import \{[^}]*\} from "\.\/base\.js";\n/m, "");
  return `${source("base").replaceAll(/^export /gm, "")}\n${own}`;
}

/** The files of the web components: their scripts by file name. */
export const readComponents = (): Map<string, string> =>
  new Map(NAMES.map((name) => [`${name}.js`, script(name)]));
