import assert from "node:assert/strict";
import { fillTenantKeys } from "../../../domain/notifications/sweep.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { setupShared } from "../../support/setup.ts";
import { email, path, refused, sent, settledDetail, templates } from "./notifications.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const ann = await t.actor({ permissions: ["send:notifications"] });
const { sql } = t.steward.platform;

const found = async (query: string, actor = ann): Promise<string[]> => {
  const { status, body } = await actor.get(`${path}?pageSize=100&${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.totalCount, body.items.length);
  return body.items.map(({ id }: { id: string }) => id);
};
const to = (...addresses: string[]) => ({ recipients: addresses.map((address) => ({ address })) });

Deno.test("messages are found by the address of any recipient or its beginning, in any letter case", async () => {
  const one = await sent(ann, email(to("Ana.Silva@x.test")));
  const two = await sent(
    ann,
    email({ ...to("bob@x.test", "ana.santos@x.test"), cc: to("ana.silva@y.test").recipients }),
  );
  const sms = await sent(ann, { channel: "Sms", ...to("+351911111111"), textBody: "Hi" });
  assert.deepEqual(await found("recipient=ana.silva@x.test"), [one]);
  assert.deepEqual(await found("recipient=ANA.S"), [two, one]);
  assert.deepEqual(await found("recipient=ana.silva@"), [two, one]);
  assert.deepEqual(await found("recipient=silva"), [], "not the middle of an address");
  assert.deepEqual(await found("recipient=%25"), [], "no wildcard");
  assert.deepEqual(await found(`recipient=${encodeURIComponent("+351")}`), [sms]);
  assert.deepEqual(await found("recipient=ana.s&channel=Sms"), []);
  assert.deepEqual(await found("recipient=ana.s&fromDate=2000-01-01&channel=Email"), [two, one]);
  const { items } = (await ann.get(`${path}?recipient=ana.silva@x`)).body;
  assert.deepEqual([items[0].recipient, items[0].recipientCount], ["Ana.Silva@x.test", 1]);
  const other = await t.actor({ permissions: ["send:notifications"] });
  assert.deepEqual(await found("recipient=ana", other), []);
  assert.deepEqual(await found("recipient=ana", t.systemAdmin), []);
});

Deno.test("a list of one channel has its messages of every status in the order of time, also on deep pages", async () => {
  const reader = await t.actor({ permissions: ["send:notifications"] });
  await sql`
    insert into notifications (id, tenant_id, channel, status, recipient_count, created_at)
    select uuidv7(-age), ${reader.tenantId}, 'Email', (enum_range(null::notification_status))[1 + n % 8], 1, now() - age
    from generate_series(1, 2100) n, make_interval(secs => n / 2) age`;
  await sent(reader, { channel: "InApp", userIds: [reader.userId], subject: "Hello", category: "Orders" });
  const ids = async (query: string) => {
    const { items } = (await reader.get(`${path}?pageSize=50&${query}`)).body;
    return items.map(({ id }: { id: string }) => id);
  };
  const all = await sql<{ id: string }[]>`
    select id from notifications where tenant_id = ${reader.tenantId} and channel = 'Email'
    order by created_at desc, id desc`;
  for (const page of [1, 2, 22, 42, 43]) {
    const expected = all.slice((page - 1) * 50, page * 50).map(({ id }) => id);
    assert.deepEqual(await ids(`channel=Email&page=${page}`), expected, `page ${page}`);
  }
});

Deno.test("messages are found by user, template, category and delivery state", async () => {
  const slug = "order-shipped";
  const template = {
    slug,
    name: "Shipped",
    locale: "en",
    subjectTemplate: "Shipped",
    textBodyTemplate: "It is on its way",
  };
  assert.equal((await ann.post(templates, template)).status, 201);
  const byTemplate = await sent(ann, email({ subject: undefined, htmlBody: undefined, templateSlug: slug }));
  const byUser = await sent(ann, {
    channel: "InApp",
    userIds: [ann.userId],
    subject: "Hello",
    category: "Orders",
  });
  assert.deepEqual(await found(`userId=${ann.userId}`), [byUser]);
  assert.deepEqual(await found(`userId=${crypto.randomUUID()}`), []);
  assert.deepEqual(await found(`templateSlug=${slug}`), [byTemplate]);
  assert.deepEqual(await found("category=oRDERS"), [byUser]);
  assert.deepEqual(await found(`userId=${ann.userId}&category=orders&templateSlug=${slug}`), []);
  assert.deepEqual(await found("deliveryState=bounced"), []);
  await settledDetail(t, ann, byTemplate);
  await sql`update notifications set delivery_state = 'Bounced' where id = ${byTemplate}`;
  assert.deepEqual(await found("deliveryState=bounced"), [byTemplate]);
  assert.equal((await ann.get(`${path}/${byTemplate}`)).body.deliveryState, "Bounced");
  for (const query of ["deliveryState=Opened", "userId=1", `recipient=${"a".repeat(321)}`]) {
    refused(await ann.get(`${path}?${query}`), 400, "VALIDATION_ERROR");
  }
});

Deno.test("recipients that the previous version inserted are found after the sweep", async () => {
  const id = await sent(ann, email(to("old@x.test")));
  await settledDetail(t, ann, id); // the sweep skips rows that a delivery has locked
  await sql`update notification_recipients set tenant_key = null where notification_id = ${id}`;
  assert.deepEqual(await found("recipient=old@x.test"), []);
  await fillTenantKeys(sql);
  assert.deepEqual(await found("recipient=old@x.test"), [id]);
});

Deno.test("many messages: pages are complete, ordered, and read by an index", async () => {
  const bob = await t.actor({ permissions: ["send:notifications"] });
  const ids = Array.from({ length: 30_000 }, newId);
  await sql`insert into notifications (id, tenant_id, channel, status, recipient_count, template_slug, category)
    select id, ${bob.tenantId}, 'Email', 'Sent', 2, 'slug-' || n % 3, 'c' || n % 1000
    from unnest(${ids}::uuid[]) with ordinality as g (id, n)`;
  await sql`insert into notification_recipients (id, notification_id, tenant_key, address, status, sent_at)
    select gen_random_uuid(), id, ${bob.tenantId}, 'user' || n || '-' || k || '@x.test', 'Sent', now()
    from unnest(${ids}::uuid[]) with ordinality as g (id, n), generate_series(1, 2) k`;
  await sql`analyze notifications, notification_recipients`;
  const deep = (await bob.get(`${path}?recipient=USER&page=290&pageSize=100`)).body;
  assert.equal(deep.totalCount, 30_000);
  const newest = ids.toReversed();
  assert.deepEqual(deep.items.map(({ id }: { id: string }) => id), newest.slice(28_900, 29_000));
  const some = (await bob.get(`${path}?recipient=user2999&pageSize=3`)).body;
  assert.equal(some.totalCount, 11);
  assert.deepEqual(
    some.items.map(({ id }: { id: string }) => id),
    newest.slice(1, 4),
  );
  assert.equal((await bob.get(`${path}?templateSlug=slug-1&recipient=user2999`)).body.totalCount, 3);
  assert.equal((await bob.get(`${path}?category=C7`)).body.totalCount, 30);
  const explained = await Promise.all([
    sql`explain select distinct notification_id from notification_recipients where tenant_key = ${bob.tenantId}
      and left(lower(address), 320) ~>=~ 'user2999' and left(lower(address), 320) ~<~ 'user2999~'`,
    sql`explain select id from notifications n where tenant_id = ${bob.tenantId} and lower(category) = 'c7'
      order by created_at desc, id desc limit 20`,
    sql`explain select id from notifications n where tenant_id = ${bob.tenantId} and template_slug = 'slug-1'
      order by created_at desc, id desc limit 20`,
  ]);
  const plans = explained.map((rows) => JSON.stringify(rows));
  assert.match(plans[0] ?? "", /notification_recipients_address/);
  assert.match(plans[1] ?? "", /notifications_category/);
  assert.match(plans[2] ?? "", /notifications_template/);
});
