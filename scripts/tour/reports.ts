import assert from "node:assert/strict";
import type { Story } from "./story.ts";

const CSV = 3;
const EMAIL = 2;
const DELIVERED = 5;

/** Reports: made in the background, scanned like any file, delivered by mail. */
export async function reportSteps(story: Story): Promise<void> {
  story.chapter("Reports");
  const { member, nobody } = story;
  const execution = await story.step(
    "Zoë asks for the users report as CSV, to be mailed",
    async () =>
      await member.expect(202, "POST", "/api/v1/reports/generate-async", {
        templateId: "users",
        format: CSV,
        delivery: { method: EMAIL, recipients: [story.memberEmail], emailSubject: "Your users" },
      }),
  );
  const report = await story.step(
    "it is generated, scanned and delivered in the background",
    async () =>
      await story.until("the delivery", async () => {
        const detail = await member.expect(200, "GET", `/api/v1/reports/${execution.trackingId}`);
        assert.notEqual(detail.status, 4, `the report failed: ${detail.errorMessage}`);
        return detail.status === DELIVERED ? detail : null;
      }),
  );
  await story.step("its file is in the registry, scanned, and holds the two of them", async () => {
    const file = await member.expect(200, "GET", `/api/v1/files/${report.storedFileId}`);
    assert.equal(file.status, "Available");
    const { url } = await member.expect(200, "GET", `/api/v1/reports/${report.id}/download`);
    assert.match(await (await fetch(url)).text(), new RegExp(story.memberEmail));
  });
  const { status } = await nobody.send("GET", "/dev/outbox");
  if (status === 404) return; // in production the mail has gone out into the world
  await story.step("the mail is in the outbox with its attachment", async () => {
    const messages = await nobody.expect(200, "GET", "/dev/outbox");
    const mail = messages.find((message: { to: string[]; subject: string }) =>
      message.to.includes(story.memberEmail) && message.subject === "Your users"
    );
    assert.ok(mail, "a mail to Zoë with the chosen subject");
    assert.equal(mail.attachments.length, 1);
    assert.equal(mail.attachments[0].sizeBytes, report.fileSizeBytes);
  });
}
