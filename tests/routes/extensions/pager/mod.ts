// An extension for tests: a channel with two providers whose addresses belong to users, and providers for other channels.
import process from "node:process";
import { defineChannel, defineExtension, type ExtensionProvider } from "@steward/steward";

/** A provider that posts to a path of PAGER_URL. The status of the answer decides. */
const pagerAt = (path: string): ExtensionProvider["send"] => async (message, { steward, signal }) => {
  const { recipient: { address }, text } = message;
  const url = `${process.env.PAGER_URL}${path}/${encodeURIComponent(address)}`;
  const { status } = await steward.fetchOutbound({ url, method: "POST", body: text ?? "", signal });
  if (status === 200) return { providerMessageId: `${path}-1` };
  if (status === 418) throw new Error(`broken by ${address}`);
  return { problem: { reason: `the pager answered ${status}`, isPermanent: status === 404 } };
};

const pager = defineChannel({
  name: "TextPager",
  displayName: "Text pager",
  address: {
    expected: "a pager number such as P-12",
    fits: (address) => /^P-[a-z0-9-]{1,40}$/.test(address),
    ofUsers: async (db, _tenantId, userIds) => {
      const rows = await db<{ id: string }[]>`
        select id from users where id = any(${userIds}::uuid[]) and first_name <> 'Pagerless'`;
      return new Map(rows.map(({ id }) => [id, `P-${id}`]));
    },
  },
  providers: [{ name: "pager-a", send: pagerAt("/a") }, { name: "pager-b", send: pagerAt("/b") }],
});

export default defineExtension({
  name: "pager",
  channels: [pager],
  providers: [
    { channel: "Sms", name: "pager-sms", send: pagerAt("/sms") },
    { channel: "Email", name: "pager-mail", send: pagerAt("/mail") },
    {
      channel: "Webhook",
      name: "pager-webhook",
      send: ({ recipient }) => Promise.reject(new Error(`cannot post to ${recipient.address}`)),
    },
  ],
});
