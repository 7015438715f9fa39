import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { shippedMails, url } from "./shipped_mails.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const { platform } = t;

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
