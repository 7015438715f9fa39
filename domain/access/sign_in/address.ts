import { isIP } from "node:net";

/**
 * Key for counting failed sign-ins: an IPv4 address (also one mapped into IPv6), or the /64 network of an IPv6 address,
 * because one client usually has a whole /64 network. `unknown` if there is no valid address.
 */
export function addressKey(ip: string | null): string {
  const plain = (ip ?? "").split("%")[0]?.replace(/^::ffff:(?=\d+\.)/i, "") ?? "";
  switch (isIP(plain)) {
    case 4:
      return plain;
    case 6:
      return ipv6Network(plain);
    default:
      return "unknown";
  }
}

function ipv6Network(ip: string): string {
  const canonical = new URL(`http://[${ip}]`).hostname.slice(1, -1); // compressed, without dotted quads
  const [head = "", tail] = canonical.split("::");
  const left = head.split(":").filter(Boolean);
  const right = tail?.split(":").filter(Boolean) ?? [];
  const groups = [...left, ...Array(8 - left.length - right.length).fill("0"), ...right];
  return `${groups.slice(0, 4).join(":")}::/64`;
}
