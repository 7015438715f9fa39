import { isMailAddress, mailKey } from "../../infra/mail/mail_address.ts";
import { isUuid } from "../shared/ids.ts";
import { isPhoneNumber, phoneNumberOf } from "../shared/phone_number.ts";
import { declaredChannel, isBuiltIn } from "./channels.ts";
import type { BuiltInChannel, NotificationChannel } from "./status.ts";

const DEVICE_TOKEN = /^[!-~]{1,4096}$/;

/** The expected form of an address per channel, as error messages describe it. */
const EXPECTED: Record<BuiltInChannel, string> = {
  Email: "an email address such as name@example.com",
  Sms: "a phone number in E.164 form such as +351912345678",
  Push: "a device token",
  InApp: "the UUID of a user",
};

/** Checks the syntax of an address of the channel. @returns the error message, or null if the address is valid. */
export function addressMistake(channel: NotificationChannel, address: string): string | null {
  const declared = declaredChannel(channel)?.address;
  const isValid = isBuiltIn(channel) ? fits(channel, address) : declared?.fits(address) ?? false;
  if (isValid) return null;
  const expected = isBuiltIn(channel) ? EXPECTED[channel] : declared?.expected;
  return `"${shownAddress(channel, address).slice(0, 100)}" is not ${expected}`;
}

/**
 * An address as answers and logs show it. A URL of an extension's channel is cut after its host, because an incoming
 * webhook URL is a secret.
 */
export const shownAddress = (channel: NotificationChannel, address: string): string =>
  isBuiltIn(channel) ? address : address.replace(/^(https?:\/\/)(?:[^/?#]*@)?([^/?#]+).*$/is, "$1$2/…");

function fits(channel: BuiltInChannel, address: string): boolean {
  if (channel === "Sms") return isPhoneNumber(address);
  if (channel === "Push") return DEVICE_TOKEN.test(address);
  return channel === "InApp" ? isUuid(address) : isMailAddress(address);
}

/** An address as it is stored: phone numbers in E.164 form, without the separators of an international number. */
export const storedAddress = (channel: NotificationChannel, address: string): string =>
  channel === "Sms" ? phoneNumberOf(address) ?? address : address;

/** An address normalized for comparison: two addresses are the same if their keys are equal. */
export function addressKey(channel: NotificationChannel, address: string): string {
  if (channel === "InApp") return address.toLowerCase();
  return channel === "Email" ? mailKey(address) : address;
}
