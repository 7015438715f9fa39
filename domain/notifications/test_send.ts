import { invalid } from "../problems/problem.ts";
import { RateLimit, requireQuota } from "../requests/rate_limit.ts";
import type { Caller } from "../rights/caller.ts";
import { findUsersInTenant, fullName } from "../rights/user_lookup.ts";
import type { NotificationPlatform } from "./platform.ts";
import { sendMessage } from "./send.ts";
import type { NotificationResult } from "./status.ts";
import { inLayout } from "../templates/in_layout.ts";
import { readTemplate } from "../templates/read.ts";
import { renderStored, sampleDataOf } from "../templates/render.ts";

const TESTS_A_MINUTE = 10;
/** Tests of each user, counted per instance. */
const tests = new RateLimit(TESTS_A_MINUTE);

/**
 * Mails a template to the caller's own address, with `[Test]` before its subject.
 * @param o.data absent: sample data
 * @throws NOTIFICATION_TEMPLATE_NOT_FOUND, NOTIFICATION_TEMPLATE_INVALID, NOTIFICATION_TEMPLATE_VARIABLES_MISSING,
 * VALIDATION_ERROR for a layout or partial, RATE_LIMITED, NOTIFICATION_CHANNEL_NOT_CONFIGURED
 */
export async function sendTemplateTest(
  p: NotificationPlatform,
  caller: Caller,
  id: string,
  o: { data: Record<string, unknown> | null; locale: string | null },
): Promise<NotificationResult> {
  const { tenantId, userId } = caller;
  const template = await readTemplate(p.sql, tenantId, id);
  if (template.kind !== "Template") {
    throw invalid({
      id: [`the ${template.kind.toLowerCase()} ${template.slug} is not a mail; test a template that uses it`],
    });
  }
  const [user] = await findUsersInTenant(p.sql, tenantId, [userId]);
  if (!user) throw invalid({ id: ["the caller has no address in this tenant"] });
  requireQuota(tests.take(userId));
  const data = o.data ?? await sampleDataOf(p, tenantId, template);
  const { subject, htmlBody, textBody, locale } = await renderStored(p, tenantId, template, { ...o, data });
  const texts = { subject: `[Test] ${subject ?? template.name}`, html: htmlBody, text: textBody };
  const shown = await inLayout(p, tenantId, texts, locale);
  return await sendMessage(p, caller, {
    channel: "Email",
    recipients: [{ address: user.email, displayName: fullName(user) }],
    subject: shown.subject,
    htmlBody: shown.html,
    textBody: shown.text,
    cc: [],
    bcc: [],
    attachments: [],
  });
}
