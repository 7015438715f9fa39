import assert from "node:assert/strict";
import type { Tour } from "./tour.ts";

const CSV = 3;
const EMAIL = 2;
const DELIVERED = 5;

/** Reports: generated in the background, scanned like any file, delivered by email. */
export async function reportSteps(tour: Tour): Promise<void> {
  tour.section("Reports");
  const { member, anonymous } = tour;
  const execution = await tour.step(
    "Zoë requests the users report as CSV, by email",
    async () =>
      await member.expect(202, "POST", "/api/v1/reports/generate-async", {
        templateId: "users",
        format: CSV,
        delivery: { method: EMAIL, recipients: [tour.memberEmail], emailSubject: "Your users" },
      }),
  );
  const report = await tour.step(
    "it is generated, scanned and delivered in the background",
    async () =>
      await tour.until("the delivery", async () => {
        const detail = await member.expect(200, "GET", `/api/v1/reports/${execution.trackingId}`);
        assert.notEqual(detail.status, 4, `the report failed: ${detail.errorMessage}`);
        return detail.status === DELIVERED ? detail : null;
      }),
  );
  await tour.step("its file is in the registry, is scanned, and contains Zoë's row", async () => {
    const file = await member.expect(200, "GET", `/api/v1/files/${report.storedFileId}`);
    assert.equal(file.status, "Available");
    const { url } = await member.expect(200, "GET", `/api/v1/reports/${report.id}/download`);
    assert.match(await (await fetch(url)).text(), new RegExp(tour.memberEmail));
  });
  const { status } = await anonymous.send("GET", "/dev/outbox");
  if (status === 404) return; // only a development service has an outbox
  await tour.step("the email is in the outbox with its attachment", async () => {
    const messages = await anonymous.expect(200, "GET", "/dev/outbox");
    const mail = messages.find((message: { to: string[]; subject: string }) =>
      message.to.includes(tour.memberEmail) && message.subject === "Your users"
    );
    assert.ok(mail, "an email to Zoë with the given subject");
    assert.equal(mail.attachments.length, 1);
    assert.equal(mail.attachments[0].sizeBytes, report.fileSizeBytes);
  });
}
