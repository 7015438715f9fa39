import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

export interface Asset {
  bytes: Uint8Array<ArrayBuffer>;
  contentType: string;
  version: string;
}

/** Parts of console.css, in cascade order. */
const STYLES = [
  "tokens",
  "base",
  "layout",
  "controls",
  "forms",
  "lists",
  "cards",
  "tables",
  "timeline",
  "charts",
  "finder",
];

/** Reads scripts, styles and icon once. Their addresses contain a content hash, so browsers cache them permanently. */
async function loadAssets(): Promise<Assets> {
  const htmx = join(
    dirname(createRequire(import.meta.url).resolve("htmx.org/package.json")),
    "dist/htmx.min.js",
  );
  const own = (name: string) => new URL(`../assets/${name}`, import.meta.url);
  return assetsOf([
    [
      "console.css",
      await readAsset(STYLES.map((name) => own(`style/${name}.css`)), "text/css; charset=utf-8"),
    ],
    ["console.js", await readAsset([own("console.js")], "text/javascript; charset=utf-8")],
    ["filter.js", await readAsset([own("filter.js")], "text/javascript; charset=utf-8")],
    ["finder.js", await readAsset([own("finder.js")], "text/javascript; charset=utf-8")],
    ["passkey.js", await readAsset([own("passkey.js")], "text/javascript; charset=utf-8")],
    ["upload.js", await readAsset([own("upload.js")], "text/javascript; charset=utf-8")],
    ["htmx.js", await readAsset([htmx], "text/javascript; charset=utf-8")],
    ["icon.svg", await readAsset([own("icon.svg")], "image/svg+xml; charset=utf-8")],
  ]);
}

export interface Assets {
  /** Address relative to the console's base. */
  href(name: string): string;
  answer(name: string): Response;
  /** These and further assets. */
  and(more: [name: string, asset: Asset][]): Assets;
}

function assetsOf(all: [name: string, asset: Asset][]): Assets {
  const assets = new Map(all);
  return {
    href: (name) => `assets/${name}?v=${assets.get(name)?.version ?? ""}`,
    and: (more) => assetsOf([...all, ...more]),
    answer(name) {
      const asset = assets.get(name);
      if (!asset) return new Response("not found", { status: 404 });
      return new Response(asset.bytes, {
        headers: {
          "content-type": asset.contentType,
          "cache-control": "public, max-age=31536000, immutable",
          "x-content-type-options": "nosniff",
        },
      });
    },
  };
}

let shared: Promise<Assets> | undefined;

/** The assets, read once for all who serve pages. */
export const sharedAssets = (): Promise<Assets> => shared ??= loadAssets();

/** Reads files as one asset. */
export async function readAsset(files: (URL | string)[], contentType: string): Promise<Asset> {
  const bytes = new Uint8Array(
    await new Blob(await Promise.all(files.map((file) => Deno.readFile(file)))).arrayBuffer(),
  );
  const version = createHash("sha256").update(bytes).digest("hex").slice(0, 12);
  return { bytes, contentType, version };
}
