/**
 * The address a request comes from. Each trusted proxy adds the address it was called from to the end of
 * X-Forwarded-For, so with `trustedProxies` of them the caller's stands that far from the end; what stands before it
 * anyone could have written.
 */
export function clientAddress(headers: Headers, peer: string | null, trustedProxies: number): string | null {
  if (trustedProxies === 0) return peer;
  const forwarded = headers.get("x-forwarded-for")?.split(",").map((part) => part.trim()).filter(Boolean) ??
    [];
  return forwarded.at(-Math.min(trustedProxies, forwarded.length)) ?? peer;
}
