import assert from "node:assert/strict";
import { accepted } from "../../support/outcomes.ts";
import { until } from "../../support/until.ts";
import { PASSWORD, signedIn } from "../auth/people.ts";
import { tenantWithLooks } from "./hosted.ts";
import { add, setupSenders } from "./senders.ts";
import mails from "../../../infra/postgres/mails/mails.json" with { type: "json" };

const { t, mail, mailFor } = await setupSenders();
const { sql } = t.steward.platform;
const address = (name: string) => `${name}-${crypto.randomUUID()}@own-name.example`;
const fromBase64 = (text = "") => new TextDecoder().decode(Uint8Array.fromBase64(text.replaceAll(/\s/g, "")));

/** A mail with its encoded parts and headers decoded. ASCII letters are themselves in quoted-printable. */
const decoded = (raw: string): string =>
  raw.replaceAll("=\r\n", "")
    .replaceAll(/(encoding: base64\r\n(?:\S.*\r\n)*\r\n)([\w+/=\r\n]+)/gi, (_, head, body) =>
      head + fromBase64(body))
    .replaceAll(/=\?utf-8\?b\?([\w+/=]+)\?=/gi, (_, word) =>
      fromBase64(word));

Deno.test("the mails that a tenant's people get have the tenant's name, and nowhere that of the service", async () => {
  const { by, tenantId, looks } = await tenantWithLooks(t, { productName: "Northwind" });
  const admin = await t.actor({ tenantId, permissions: ["create:users", "update:tenants"] });
  const { me, email } = await signedIn(t, { links: [tenantId] });
  await accepted(admin.put("/api/v1/registration-settings", { mode: "open" }));
  const send = async (templateSlug: string, templateData: object) => {
    const recipients = [{ address: address(templateSlug) }];
    const message = { channel: "Email", recipients, templateSlug, templateData };
    await accepted(by.post("/api/v1/notifications/send", message));
    return recipients.map((recipient) => recipient.address);
  };
  const [invited, registered, confirmed, newEmail] = ["i", "r", "c", "n"].map(address);
  await accepted(admin.post("/api/v1/users/invite", { email: invited, roleIds: [admin.roleId] }), 201);
  await accepted(t.nobody.post("/api/v1/auth/register", { tenantId, email: registered }), 202);
  await add(by, { address: confirmed, method: "Mail" });
  await accepted(t.nobody.post("/api/v1/auth/forgot-password", { email }));
  await accepted(me.post("/api/v1/auth/change-email", { newEmail, password: PASSWORD }));
  const items = [{ subject: "A", text: "B", html: "C", unsubscribeUrl: t.url }];
  const addresses = [
    ...[invited, registered, confirmed, newEmail].map(String),
    ...await send("report-ready", { reportName: "R", downloadUrl: t.url }),
    ...await send("notification-digest", { items, count: 1, isSingle: true }),
  ];
  for (const each of addresses) await mailFor(each);
  // A reset link and the news of the change.
  await until(() => mail.received.filter(({ to }) => to.includes(email)), ({ length }) => length === 2);
  const sent = mail.received.filter(({ to }) => to.some((each) => [...addresses, email].includes(each)));
  for (const { raw } of sent) {
    const shown = decoded(raw);
    assert.doesNotMatch(shown, /Steward/);
    assert.match(shown, /^From: Northwind </m);
    assert.ok(shown.includes(looks.primaryColour) && shown.includes('alt=3D"Northwind"'), shown);
  }
  const slugs = await sql<{ slug: string }[]>`
    select distinct template_slug as slug from notifications where template_slug is not null`;
  const built = new Set(mails.map(({ slug }) => slug));
  assert.deepEqual(
    built.difference(new Set(slugs.map(({ slug }) => slug))),
    new Set(),
    "every built-in mail was sent",
  );
});
