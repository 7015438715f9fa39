/**
 * Returns the client address of a request. Each trusted proxy appends the address of its client to X-Forwarded-For. So
 * the caller's address is the entry number `trustedProxies` from the end. Earlier entries are not trusted: the caller
 * can set them.
 */
export function clientAddress(headers: Headers, peer: string | null, trustedProxies: number): string | null {
  if (trustedProxies === 0) return peer;
  const forwarded = headers.get("x-forwarded-for")?.split(",").map((part) => part.trim()).filter(Boolean) ??
    [];
  return forwarded.at(-Math.min(trustedProxies, forwarded.length)) ?? peer;
}
