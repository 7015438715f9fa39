import { createHash } from "node:crypto";

/** Content security policy of a page with one inline script: allows only it, and requests only to the page's origin. */
export const pagePolicy = (script: string): string =>
  `default-src 'none'; style-src 'unsafe-inline'; connect-src 'self'; ` +
  `base-uri 'none'; form-action 'none'; frame-ancestors 'none'; ` +
  `script-src 'sha256-${createHash("sha256").update(script).digest("base64")}'`;
