import { domainToASCII } from "node:url";

/** An email address normalized for comparison: two addresses are the same if their keys are equal. */
export function mailKey(address: string): string {
  const at = address.lastIndexOf("@");
  const domain = address.slice(at + 1);
  return `${address.slice(0, at)}@${domainToASCII(domain) || domain}`.toLowerCase();
}

/** The domain of an email address, normalized for comparison. */
export function mailDomain(address: string): string {
  const key = mailKey(address);
  return key.slice(key.lastIndexOf("@") + 1);
}
