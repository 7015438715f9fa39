import { inLayout, renderTemplate } from "../../../domain/templates/render.ts";
import type { ServicePlatform } from "../../../domain/platform.ts";

export const url = `https://steward.example.test/auth/reset-password#${"3f9a8c7b".repeat(8)}`;
const [firstName, reportName] = ["<b>Zoë</b>", "A & B"];
const MAILS = [
  { slug: "password-reset", data: { resetUrl: url, firstName, expiresInMinutes: 30 } },
  { slug: "invitation", data: { invitationUrl: url, tenantName: "A & B", firstName } },
  { slug: "registration", data: { registrationUrl: url, tenantName: "A & B", expiresInMinutes: 30 } },
  { slug: "report-ready", data: { reportName, downloadUrl: url, expiresAt: "27 Nov 2026", message: "1\n2" } },
  { slug: "report-ready", data: { reportName } },
  { slug: "account-change", data: { title: "T", text: "A & B", firstName, at: "2026-11-23T04:00:00Z" } },
  { slug: "email-change", data: { confirmUrl: url, newEmail: "a&b@x.test", expiresInMinutes: 30 } },
];

export const shippedMails = (platform: ServicePlatform) =>
  Promise.all(MAILS.flatMap((mail) =>
    ["en", "pt"].map(async (locale) => {
      const { subject, htmlBody, textBody } = await renderTemplate(platform, null, { ...mail, locale });
      const shown = await inLayout(platform, null, { subject, html: htmlBody, text: textBody }, locale);
      return { subject, htmlBody: shown.html, textBody: shown.text, locale };
    })
  ));
