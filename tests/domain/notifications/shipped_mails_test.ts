import assert from "node:assert/strict";
import { renderTemplate } from "../../../domain/templates/render.ts";
import { setupShared } from "../../support/setup.ts";
import { shippedMails, url } from "./shipped_mails.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const { platform } = t.steward;

Deno.test("shipped mails have the same content in HTML and in text, escaped, with light and dark colours", async () => {
  for (const { subject, htmlBody, textBody, locale } of await shippedMails(platform)) {
    assert.ok(subject && htmlBody && textBody);
    assert.ok(htmlBody.includes(`<html lang="${locale}">`));
    assert.match(htmlBody, /prefers-color-scheme: dark/);
    assert.equal(htmlBody.match(/class="(page|around|card|inside)"/g)?.length, 5);
    assert.equal(htmlBody.includes(url), textBody.includes(url), "the link is in both");
    assert.ok(!htmlBody.includes("<b>Zoë") && !htmlBody.includes("A & B") && !textBody.includes("&amp;"));
    assert.ok(!/\{\{|<script|<img|<link/.test(htmlBody), "nothing is fetched and nothing is left to fill in");
  }
});

Deno.test("the mail with a document speaks to somebody who asked for nothing", async () => {
  const linked = { downloadUrl: url, expiresAt: "27 Nov 2026" };
  const cases: [locale: string, data: Record<string, string>, RegExp][] = [
    ["en", {}, /^Invoice 17: your document\n.*“Invoice 17” is attached to this message\./s],
    ["pt", {}, /^Invoice 17: seu documento\n.*“Invoice 17” segue em anexo\./s],
    ["en", linked, /“Invoice 17” is ready for download\..*Download the document:/s],
    ["pt", linked, /“Invoice 17” está disponível para baixar\..*Baixar o documento:/s],
  ];
  for (const [locale, more, expected] of cases) {
    const data = { reportName: "Invoice 17", ...more };
    const mail = await renderTemplate(platform, null, { slug: "report-ready", locale, data });
    const text = `${mail.subject}\n${mail.textBody}`;
    assert.match(text, expected);
    assert.doesNotMatch(text, /asked|pediu|report|relatório/);
  }
});
