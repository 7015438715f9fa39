/** The cookies of a request by name. Of equal names the first counts: browsers send the more specific path first. */
export function cookiesOf(headers: Headers): Map<string, string> {
  const cookies = new Map<string, string>();
  for (const part of (headers.get("cookie") ?? "").split(";")) {
    const [name = "", ...value] = part.trim().split("=");
    if (!cookies.has(name)) cookies.set(name, value.join("="));
  }
  return cookies;
}
