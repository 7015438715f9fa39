import { isWithoutRecords } from "./dns_response_code.ts";

/** Thrown if the name server fails, refuses or does not answer, so that it is not known whether a record exists. */
export class DnsUnavailable extends Error {
  override readonly name = "DnsUnavailable";
}

const TIMEOUT_MS = 5_000;

/**
 * The TXT records of a name; empty if there are none. A record of several strings is returned joined (RFC 7208, 3.3).
 * @param server address and port of a name server; null: that of the system
 * @throws DnsUnavailable
 */
export async function readTxtRecords(
  name: string,
  server: { hostname: string; port: number } | null,
): Promise<string[]> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const nameServer = server && { ipAddr: server.hostname, port: server.port };
  try {
    // the dot at the end keeps the resolver from trying the name in the domains of its search list
    const records = await Deno.resolveDns(`${name}.`, "TXT", {
      signal,
      ...nameServer ? { nameServer } : {},
    });
    return records.map((parts) => parts.join(""));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound && await isWithoutRecords(name, server)) return [];
    throw new DnsUnavailable(`the name server did not answer for ${name}`, { cause: error });
  }
}
