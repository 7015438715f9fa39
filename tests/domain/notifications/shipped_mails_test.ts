import assert from "node:assert/strict";
import { renderTemplate } from "../../../domain/notifications/templates/render.ts";
import { inLayout } from "../../../domain/notifications/templates/in_layout.ts";
import { openBrowser } from "../../support/chromium.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const url = `https://steward.example.test/auth/reset-password#${"3f9a8c7b".repeat(8)}`;
const MAILS = [
  { slug: "password-reset", data: { resetUrl: url, firstName: "<b>Zoë</b>", expiresInMinutes: 30 } },
  { slug: "invitation", data: { invitationUrl: url, tenantName: "A & B", firstName: "<b>Zoë</b>" } },
  {
    slug: "report-ready",
    data: { reportName: "A & B", downloadUrl: url, expiresAt: "27 Nov 2026", message: "1\n2" },
  },
  { slug: "report-ready", data: { reportName: "A & B" } },
  {
    slug: "account-change",
    data: { title: "T", text: "A & B", firstName: "<b>Zoë</b>", at: "2026-11-23T04:00:00Z" },
  },
  {
    slug: "email-change",
    data: { confirmUrl: url, newEmail: "a&b@example.test", firstName: null, expiresInMinutes: 30 },
  },
];
const { platform } = t.steward;
const mails = () =>
  Promise.all(
    MAILS.flatMap((mail) =>
      ["en", "pt"].map(async (locale) => {
        const { subject, htmlBody, textBody } = await renderTemplate(platform, null, { ...mail, locale });
        const shown = await inLayout(platform, null, { subject, html: htmlBody, text: textBody }, locale);
        return { subject, htmlBody: shown.html, textBody: shown.text, locale };
      })
    ),
  );

Deno.test("shipped mails have the same content in HTML and in text, escaped, with light and dark colours", async () => {
  for (const { subject, htmlBody, textBody, locale } of await mails()) {
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
  const texts = async (locale: string, data: Record<string, string>) => {
    const mail = { slug: "report-ready", locale, data: { reportName: "Invoice 17", ...data } };
    const { subject, textBody } = await renderTemplate(platform, null, mail);
    return `${subject}\n${textBody}`;
  };
  const linked = { downloadUrl: url, expiresAt: "27 Nov 2026" };
  const attached = [await texts("en", {}), await texts("pt", {})];
  assert.match(
    attached[0] ?? "",
    /^Invoice 17: your document\n.*“Invoice 17” is attached to this message\./s,
  );
  assert.match(attached[1] ?? "", /^Invoice 17: seu documento\n.*“Invoice 17” segue em anexo\./s);
  assert.match(await texts("en", linked), /“Invoice 17” is ready for download\..*Download the document:/s);
  assert.match(await texts("pt", linked), /“Invoice 17” está disponível para baixar\..*Baixar o documento:/s);
  for (const text of attached) assert.doesNotMatch(text, /asked|pediu|report|relatório/);
});

const browser = await openBrowser();
Deno.test.afterAll(() => browser?.close());

Deno.test({
  name: "shipped mails fit a narrow screen and use the reader's colour scheme (Chromium)",
  ignore: browser === null,
  async fn() {
    const page = await (browser ?? assert.fail()).newPage();
    for (const { htmlBody } of await mails()) {
      for (
        const [colorScheme, background] of [["light", "rgb(242, 244, 247)"], [
          "dark",
          "rgb(15, 20, 27)",
        ]] as const
      ) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width: 320, height: 600 });
        await page.setContent(htmlBody ?? "");
        const [width, colour] = await page.evaluate(
          "[document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor]",
        ) as [number, string];
        assert.deepEqual([width, colour], [320, background]);
      }
    }
  },
});
