import { mailKey } from "../../infra/mail/mail_address.ts";
import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import { type FieldErrors, invalid } from "../problems/problem.ts";
import { type AddressedUser, findUsersByEmail, findUsersInTenant, fullName } from "../rights/user_lookup.ts";
import { newId } from "../shared/ids.ts";
import { addressMistake } from "./addresses.ts";
import { declaredChannel } from "./channels.ts";
import type { HeldNotification, HeldRecipient, Outcome } from "./delivery_ledger.ts";
import { findDeviceTokensByUser } from "./devices.ts";
import type { Message, MessageRecipient } from "./message.ts";
import type { NotificationChannel } from "./status.ts";
import { tenantKeyOf } from "./tenant_key.ts";

/**
 * The recipients for a message's `userIds`, with their current addresses. Delivery reads the addresses again. If a user
 * has no address of the channel, the recipient's address is the user id.
 * @throws VALIDATION_ERROR with every id that is not an active user of the tenant.
 */
export async function recipientsOfUsers(
  q: Sql,
  tenantId: string | null,
  { channel, userIds = [] }: Message,
  field: string,
): Promise<MessageRecipient[]> {
  if (userIds.length === 0) return [];
  const users = new Map((await findUsersInTenant(q, tenantId, userIds)).map((user) => [user.id, user]));
  const addresses = await addressesOf(q, tenantId, channel, [...users.values()]);
  const errors: FieldErrors = {};
  const recipients = userIds.map((id, index): MessageRecipient => {
    const user = users.get(id);
    if (!user) errors[`${field}userIds.${index}`] = [`"${id}" is not an active user of this tenant`];
    return {
      address: addresses.get(id) ?? id,
      displayName: user ? fullName(user) : null,
      userId: id,
      followsUser: channel !== "InApp",
    };
  });
  if (Object.keys(errors).length > 0) throw invalid(errors);
  return recipients;
}

/**
 * A message's recipients with the users behind their addresses. In-app addresses are user ids. Email addresses are looked
 * up if the message has a category, because the preferences of a user also apply to mail sent to the user's address.
 */
export async function withKnownUsers(
  q: Sql,
  tenantId: string | null,
  { channel, category, recipients }: Message,
): Promise<MessageRecipient[]> {
  if (channel === "InApp") return recipients.map((r) => ({ ...r, userId: r.address.toLowerCase() }));
  if (channel !== "Email" || !category) return recipients;
  const users = await findUsersByEmail(q, tenantId, recipients.map((recipient) => recipient.address));
  const byEmail = new Map(users.map((user) => [mailKey(user.email), user.id]));
  return recipients.map((r) => ({ ...r, userId: byEmail.get(mailKey(r.address)) ?? null }));
}

/** The users' valid addresses of the channel by user id. Empty for push, which uses devices. */
async function addressesOf(
  q: Sql,
  tenantId: string | null,
  channel: NotificationChannel,
  users: AddressedUser[],
): Promise<Map<string, string>> {
  const { ofUsers } = declaredChannel(channel)?.address ?? {};
  const declared = await ofUsers?.(q, tenantId, users.map(({ id }) => id));
  return new Map(users.flatMap((user): [string, string][] => {
    const address = declared ? declared.get(user.id) : builtInAddress(channel, user);
    return address && addressMistake(channel, address) === null ? [[user.id, address]] : [];
  }));
}

function builtInAddress(channel: NotificationChannel, user: AddressedUser): string | null {
  if (channel === "InApp") return user.id;
  return channel === "Email" ? user.email : channel === "Sms" ? user.phoneNumber : null;
}

const NO_DEVICE = "The user has registered no device.";
const NO_ADDRESS = new Map<NotificationChannel, string>([
  ["Email", "The user has no valid email address."],
  ["Sms", "The user has no phone number in E.164 form."],
  ["InApp", "The user has no inbox."],
]);

/**
 * Replaces the addresses of recipients that follow a user by the user's current email, phone number or devices. Each
 * device becomes a separate recipient. Users who are no longer active or have no address of the channel are skipped.
 */
export async function useCurrentAddresses(
  q: Sql,
  held: HeldNotification,
  recipients: HeldRecipient[],
): Promise<{ found: HeldRecipient[]; skipped: Outcome[] }> {
  const ids = recipients.flatMap((r) => r.followsUser && r.userId !== null ? [r.userId] : []);
  if (ids.length === 0) return { found: recipients, skipped: [] };
  const users = new Map((await findUsersInTenant(q, held.tenantId, ids)).map((user) => [user.id, user]));
  const addresses = await addressesOf(q, held.tenantId, held.channel, [...users.values()]);
  const noAddress = NO_ADDRESS.get(held.channel) ?? "The user has no address of this channel.";
  const skipped: Outcome[] = [];
  const found: HeldRecipient[] = [];
  const moved: HeldRecipient[] = [];
  const deviceless: HeldRecipient[] = [];
  for (const recipient of recipients) {
    const user = recipient.userId === null ? undefined : users.get(recipient.userId);
    if (!recipient.followsUser) found.push(recipient);
    else if (!user) skipped.push(skip(recipient, "NotAUser", "No longer an active user of this tenant."));
    else if (held.channel === "Push") {
      (recipient.address === recipient.userId ? deviceless : found).push(recipient);
    } else {
      const address = addresses.get(user.id);
      if (address === undefined) skipped.push(skip(recipient, "NoAddress", noAddress));
      else if (address === recipient.address) found.push(recipient);
      else moved.push({ ...recipient, address });
    }
  }
  if (moved.length > 0) await writeAddresses(q, moved);
  const devices = deviceless.length > 0 ? await toDevices(q, held, deviceless) : NO_DEVICES;
  skipped.push(...devices.none.map((recipient) => skip(recipient, "NoAddress", NO_DEVICE)));
  return { found: [...found, ...moved, ...devices.found], skipped };
}

/** The outcome of a recipient who is skipped. */
export const skip = (
  { id }: HeldRecipient,
  reason: NonNullable<Outcome["reason"]>,
  errorMessage: string,
): Outcome => ({ recipientId: id, status: "Skipped", reason, errorMessage });

async function writeAddresses(q: Sql, recipients: HeldRecipient[]): Promise<void> {
  await q`update notification_recipients r set address = given.address
    from unnest(${recipients.map((r) => r.id)}::uuid[], ${recipients.map((r) => r.address)}::text[])
      as given (id, address) where r.id = given.id and r.status = 'Owed'`;
}

/** The recipients made from users' devices, and the users without a device. */
interface Devices {
  found: HeldRecipient[];
  none: HeldRecipient[];
}
const NO_DEVICES: Devices = { found: [], none: [] };

/**
 * Replaces each user by the user's devices. The recipient becomes the first device, and the other devices are inserted.
 * Only the run that changes the recipient (compare-and-set) inserts the others, so two runs do not insert them twice.
 */
async function toDevices(
  sql: Sql,
  { id: notificationId, tenantId }: Pick<HeldNotification, "id" | "tenantId">,
  recipients: HeldRecipient[],
): Promise<Devices> {
  return await transact(sql, async (tx) => {
    const tokens = await findDeviceTokensByUser(tx, recipients.flatMap((r) => r.userId ?? []), tenantId);
    const found = recipients.flatMap((r) => {
      const [first, ...rest] = tokens.get(r.userId ?? "") ?? [];
      return first === undefined ? [] : [{ recipient: r, first, rest }];
    });
    const changed = await tx<{ id: string }[]>`
      update notification_recipients r set address = given.address
      from unnest(${found.map(({ recipient }) => recipient.id)}::uuid[],
        ${found.map(({ first }) => first)}::text[]) as given (id, address)
      where r.id = given.id and r.address = r.user_id::text returning r.id`;
    const ours = new Set(changed.map((row) => row.id));
    const firsts: HeldRecipient[] = [];
    const others: HeldRecipient[] = [];
    for (const { recipient, first, rest } of found) {
      if (!ours.has(recipient.id)) continue;
      firsts.push({ ...recipient, address: first });
      others.push(...rest.map((address) => ({ ...recipient, id: newId(), address })));
    }
    await tx`insert into notification_recipients (id, notification_id, tenant_key, kind, address, display_name, user_id,
        follows_user)
      select id, ${notificationId}, ${tenantKeyOf(tenantId)}, 'to', address, display_name, user_id, true
      from unnest(${others.map((r) => r.id)}::uuid[], ${others.map((r) => r.address)}::text[],
        ${others.map((r) => r.displayName)}::text[], ${others.map((r) => r.userId)}::uuid[])
        as given (id, address, display_name, user_id)`;
    const none = recipients.filter((r) => !tokens.has(r.userId ?? ""));
    return { found: [...firsts, ...others], none };
  });
}
