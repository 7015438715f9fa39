import assert from "node:assert/strict";
import { fillTenantKeys } from "../../../domain/notifications/delivery/sweep.ts";
import { pluck } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { delivered, email, path, sent, settledDetail, to } from "./notifications.ts";
import { made } from "./own_templates.ts";

const t = await setupShared();
const ann = await t.actor({ permissions: ["send:notifications"] });
const { sql } = t.steward.platform;

const found = async (query: string, actor = ann): Promise<string[]> => {
  const body = await accepted(actor.get(`${path}?pageSize=100&${query}`), 200);
  assert.equal(body.totalCount, body.items.length);
  return pluck(body.items, "id");
};

Deno.test("messages are found by the address of any recipient or its beginning, in any letter case", async () => {
  const one = await sent(ann, email(to("Ana.Silva@x.test")));
  const cc = to("ana.silva@y.test").recipients;
  const two = await sent(ann, email({ ...to("bob@x.test", "ana.santos@x.test"), cc }));
  const sms = await sent(ann, { channel: "Sms", ...to("+351911111111"), textBody: "Hi" });
  const unicode = await sent(ann, email(to("ida@bücher.test")));
  const cases: [query: string, ...ids: string[]][] = [
    ["ana.silva@x.test", one],
    ["Ida@BÜCHER.test", unicode],
    ["ida@xn--bcher-kva.test", unicode],
    ["ANA.S", two, one],
    ["ana.silva@", two, one],
    ["silva"], // not the middle of an address
    ["%25"], // no wildcard
    [encodeURIComponent("+351"), sms],
    ["ana.s&channel=Sms"],
    ["ana.s&fromDate=2000-01-01&channel=Email", two, one],
  ];
  for (const [query, ...ids] of cases) assert.deepEqual(await found(`recipient=${query}`), ids, query);
  const { items } = (await ann.get(`${path}?recipient=ana.silva@x`)).body;
  assert.deepEqual(pluck(items, "recipient", "recipientCount"), [["Ana.Silva@x.test", 1]]);
});

Deno.test("a list has its messages of every status in the order of time, also on deep pages", async () => {
  const reader = await t.actor({ permissions: ["send:notifications"] });
  await sql`
    insert into notifications (id, tenant_id, channel, status, recipient_count, created_at)
    select uuidv7(-age), ${reader.tenantId}, 'Email', (enum_range(null::notification_status))[1 + n % 8], 1, now() - age
    from generate_series(1, 1050) n, make_interval(secs => n / 2) age`;
  await sql`insert into notification_recipients (id, notification_id, tenant_key, address, status, sent_at)
    select gen_random_uuid(), id, tenant_id, 'user@x.test', 'Sent', now() from notifications
    where tenant_id = ${reader.tenantId}`;
  await sent(reader, { channel: "InApp", userIds: [reader.userId], subject: "Hello", category: "Orders" });
  const all = await sql`select id, channel from notifications where tenant_id = ${reader.tenantId}
    order by created_at desc, id desc`;
  const mails = all.filter(({ channel }) => channel === "Email");
  for (const [query, rows] of [["channel=Email", mails], ["recipient=USER", mails], ["", all]] as const) {
    for (const page of [1, 2, 51, 53]) {
      const { items } = (await reader.get(`${path}?pageSize=20&page=${page}&${query}`)).body;
      const expected = rows.slice((page - 1) * 20, page * 20);
      assert.deepEqual(pluck(items, "id"), pluck(expected, "id"), `${query} page ${page}`);
    }
  }
});

Deno.test("messages are found by user, template, category and delivery state", async () => {
  const slug = "order-shipped";
  await made(ann, { slug, requiredVariables: "", subjectTemplate: "Shipped" });
  const template = email({ subject: undefined, htmlBody: undefined, templateSlug: slug });
  const { id: byTemplate } = await delivered(t, ann, template);
  const inApp = { channel: "InApp", userIds: [ann.userId], subject: "Hello", category: "Orders" };
  const byUser = await sent(ann, inApp);
  await sql`update notifications set delivery_state = 'Bounced' where id = ${byTemplate}`;
  const cases: [query: string, ...ids: string[]][] = [
    [`userId=${ann.userId}`, byUser],
    [`userId=${crypto.randomUUID()}`],
    [`templateSlug=${slug}`, byTemplate],
    ["category=oRDERS", byUser],
    [`userId=${ann.userId}&category=orders&templateSlug=${slug}`],
    ["deliveryState=bounced", byTemplate],
    ["deliveryState=delivered"],
  ];
  for (const [query, ...ids] of cases) assert.deepEqual(await found(query), ids, query);
  assert.equal((await ann.get(`${path}/${byTemplate}`)).body.deliveryState, "Bounced");
});

Deno.test("recipients that the previous version inserted are found after the sweep", async () => {
  const id = await sent(ann, email(to("old@x.test")));
  await settledDetail(t, ann, id); // the sweep skips rows that a delivery has locked
  await sql`update notification_recipients set tenant_key = null where notification_id = ${id}`;
  assert.deepEqual(await found("recipient=old@x.test"), []);
  await fillTenantKeys(sql);
  assert.deepEqual(await found("recipient=old@x.test"), [id]);
});
