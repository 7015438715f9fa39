import { basePath } from "./answer.ts";

/** A cookie to set. Scripts cannot read it unless `isReadable`. */
export interface NewCookie {
  name: string;
  value: string;
  /** The part of the service that needs it, such as `/console`. */
  path: string;
  /** Lax for cookies that must arrive when another site sends the browser here. */
  sameSite: "Strict" | "Lax";
  /** Lifetime; null: until the browser is closed. 0 deletes the cookie. */
  maxAgeSeconds: number | null;
  isReadable?: boolean;
}

/**
 * The name of a cookie in the browser. With https, a prefix makes browsers reject such a cookie from other hosts and from
 * http. `__Host-` needs the path `/`. So below a path of a shared host, where other applications would get the cookie,
 * the prefix is `__Secure-`.
 */
const cookieName = (base: URL, name: string): string => prefixOf(base) + name;

const prefixOf = ({ protocol, pathname }: URL): string =>
  protocol !== "https:" ? "" : pathname === "/" ? "__Host-" : "__Secure-";

/** The Set-Cookie header of a cookie. */
export function setCookie(base: URL, o: NewCookie): string {
  const prefix = prefixOf(base);
  const path = prefix === "__Host-" ? "/" : basePath(base) + o.path;
  const maxAge = o.maxAgeSeconds === null ? "" : `; Max-Age=${o.maxAgeSeconds}`;
  const attributes = `Path=${path}; SameSite=${o.sameSite}${maxAge}${o.isReadable ? "" : "; HttpOnly"}`;
  return `${cookieName(base, o.name)}=${o.value}; ${attributes}${prefix ? "; Secure" : ""}`;
}

/** The value of the service's cookie `name`; undefined without one. */
export const readCookie = (base: URL, headers: Headers, name: string): string | undefined =>
  cookiesOf(headers).get(cookieName(base, name));

/** The cookies of a request by name. If a name occurs twice, the first counts, because browsers send the more specific path first. */
function cookiesOf(headers: Headers): Map<string, string> {
  const cookies = new Map<string, string>();
  for (const part of (headers.get("cookie") ?? "").split(";")) {
    const [name = "", ...value] = part.trim().split("=");
    if (!cookies.has(name)) cookies.set(name, value.join("="));
  }
  return cookies;
}
