import assert from "node:assert/strict";
import type { Tour } from "./tour.ts";

/** Notifications: a template, a message from it, and its recipient reading it. */
export async function notificationSteps(tour: Tour): Promise<void> {
  tour.section("Notifications");
  const { member, memberId } = tour;
  const slug = `welcome-${crypto.randomUUID().slice(0, 8)}`;
  await tour.step("Zoë creates a template", async () => {
    const template = await member.expect(201, "POST", "/api/v1/notification-templates", {
      slug,
      name: "Welcome",
      locale: "en",
      subjectTemplate: "Hello {{ name | upper }}",
      htmlBodyTemplate: "<p>You have {{ count | number }} new files, {{ name }}.</p>",
      requiredVariables: "name,count",
    });
    assert.equal(template.version, 1);
  });
  await tour.step("sends herself an in-app notification from it", async () => {
    const sent = await member.expect(200, "POST", "/api/v1/notifications/send", {
      channel: "InApp",
      recipients: [{ address: memberId, displayName: "Zoë" }],
      templateSlug: slug,
      templateData: { name: "Zoë", count: 1234 },
    });
    await tour.until("the delivery", async () => {
      const detail = await member.expect(200, "GET", `/api/v1/notifications/${sent.notificationId}`);
      return detail.status === "Sent" ? detail : null;
    });
  });
  await tour.step("and reads it", async () => {
    assert.equal(
      await member.expect(200, "GET", `/api/v1/user-notifications/unread-count?userId=${memberId}`),
      1,
    );
    const inbox = await member.expect(200, "GET", `/api/v1/user-notifications?userId=${memberId}`);
    const [message] = inbox.items;
    assert.equal(message.title, "Hello ZOË");
    assert.match(message.body, /1,234 new files/);
    await member.expect(200, "PUT", `/api/v1/user-notifications/${message.id}/read?userId=${memberId}`);
    assert.equal(
      await member.expect(200, "GET", `/api/v1/user-notifications/unread-count?userId=${memberId}`),
      0,
    );
  });
}
