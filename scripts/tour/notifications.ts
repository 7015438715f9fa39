import assert from "node:assert/strict";
import type { Story } from "./story.ts";

/** Notifications: a template, a message made from it, read by the one it is for. */
export async function notificationSteps(story: Story): Promise<void> {
  story.chapter("Notifications");
  const { member, memberId } = story;
  const slug = `welcome-${crypto.randomUUID().slice(0, 8)}`;
  await story.step("Zoë writes a template", async () => {
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
  await story.step("sends herself an in-app notification made from it", async () => {
    const sent = await member.expect(200, "POST", "/api/v1/notifications/send", {
      channel: "InApp",
      recipients: [{ address: memberId, displayName: "Zoë" }],
      templateSlug: slug,
      templateData: { name: "Zoë", count: 1234 },
    });
    await story.until("the delivery", async () => {
      const detail = await member.expect(200, "GET", `/api/v1/notifications/${sent.notificationId}`);
      return detail.status === "Sent" ? detail : null;
    });
  });
  await story.step("and reads it", async () => {
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
