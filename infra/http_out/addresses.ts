import { BlockList, isIP } from "node:net";

/** IPv4 ranges without public hosts: private, loopback, link-local, documentation, multicast and so on. */
const PRIVATE_V4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
];
/** The IPv6 range of all public hosts. */
const GLOBAL_V6 = ["2000::/3"];
/** Parts of GLOBAL_V6 without public hosts: protocol assignments, Teredo, documentation, and 6to4 (embedded IPv4). */
const SPECIAL_V6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

const privateV4 = blockList(PRIVATE_V4);
const globalV6 = blockList(GLOBAL_V6);
const specialV6 = blockList(SPECIAL_V6);

/** True if this IP address belongs to the public Internet. False for anything that cannot be parsed. */
export function isPublicAddress(address: string): boolean {
  const mapped = mappedV4(address);
  if (mapped !== null) return isPublicAddress(mapped);
  if (isIP(address) === 4) return !privateV4.check(address, "ipv4");
  if (isIP(address) === 6) return globalV6.check(address, "ipv6") && !specialV6.check(address, "ipv6");
  return false;
}

/** Hosts, host:port pairs and address ranges that are allowed although they are not public. */
export interface AllowList {
  allows(hostname: string, port: number, address: string): boolean;
}

/**
 * Parses a comma-separated list of hosts, host:port and CIDR ranges. IPv6 hosts are in brackets.
 * @throws Error with the first invalid entry
 */
export function readAllowList(text: string | null): AllowList {
  const hosts = new Set<string>();
  const ranges: string[] = [];
  for (const entry of (text ?? "").split(",").map((part) => part.trim().toLowerCase()).filter(Boolean)) {
    if (entry.includes("/")) ranges.push(entry);
    else if (/^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/.test(entry)) hosts.add(entry);
    else throw new Error(`"${entry}" is not a host, host:port or CIDR range`);
  }
  const list = blockList(ranges);
  return {
    allows(hostname, port, address) {
      const host = hostname.toLowerCase();
      if (hosts.has(host) || hosts.has(`${host}:${port}`)) return true;
      const plain = mappedV4(address) ?? address;
      const family = isIP(plain);
      return family !== 0 && list.check(plain, family === 4 ? "ipv4" : "ipv6");
    },
  };
}

function blockList(ranges: string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = "", bits = ""] = range.split("/");
    const family = isIP(network);
    const prefix = /^\d{1,3}$/.test(bits) ? Number(bits) : -1;
    if (family === 0 || prefix < 0 || prefix > (family === 4 ? 32 : 128)) {
      throw new Error(`"${range}" is not a CIDR range`);
    }
    list.addSubnet(network, prefix, family === 4 ? "ipv4" : "ipv6");
  }
  return list;
}

/** The IPv4 address in an IPv4-mapped IPv6 address, in any notation; null for other addresses. */
function mappedV4(address: string): string | null {
  if (isIP(address) !== 6) return null;
  const [, text] = /^\[(.*)\]$/.exec(new URL(`http://[${address.split("%")[0]}]/`).hostname) ?? [];
  const [, high = "", low = ""] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(text ?? "") ?? [];
  if (high === "") return null;
  const bits = parseInt(high, 16) * 0x10000 + parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 0xff).join(".");
}

/**
 * The reason why a caller cannot give `url` as a receiver; null if it can. Only the URL itself is checked here. The addresses
 * to which its host name resolves are checked at every request.
 * @param allow OUTBOUND_ALLOW
 */
export function urlMistake(url: string, allow: string | null): string | null {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (!parsed || !["http:", "https:"].includes(parsed.protocol)) {
    return "expected a URL that starts with http:// or https://";
  }
  if (parsed.username || parsed.password) return "expected a URL without credentials";
  const host = parsed.hostname.replace(/^\[|\]$/g, "");
  const port = Number(parsed.port) || (parsed.protocol === "https:" ? 443 : 80);
  const isPrivate = isIP(host) ? !isPublicAddress(host) : /(^|\.)localhost\.?$/.test(host);
  if (!isPrivate || readAllowList(allow).allows(parsed.hostname, port, host)) return null;
  return "expected a public address, or one that OUTBOUND_ALLOW names: private, loopback and link-local ones are refused";
}
