import assert from "node:assert/strict";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();

const HTML = `<body><style>
body { font-family: sans-serif; background: #ffffff; color: #111111; }
@media (prefers-color-scheme: dark) { body { background: #101820; color: #fafafa; } }
</style>
<h1>Order {{ number }}</h1>
<p>Hello {{ name }},</p>
<p>your order is on its way.</p>
<p>Thank you</p>`;

inBrowser(
  "versions of a template are compared, previewed on a phone and a desktop in both colours, and restored",
  async (b) => {
    const actor = await t.actor({ permissions: ["send:notifications"] });
    const viewing = await openConsole(b, t, actor);
    const { page } = viewing;
    const texts = {
      subjectTemplate: "Order {{ number }}",
      htmlBodyTemplate: HTML,
      textBodyTemplate: "one\ntwo\nthree",
      requiredVariables: "number,name",
    };
    const { body } = await actor.post("/api/v1/notification-templates", {
      slug: "order-shipped",
      locale: "en",
      name: "Order shipped",
      ...texts,
    });
    const changed = { templateId: body.id, name: "Order shipped", ...texts };
    const put = (more: Record<string, unknown>) =>
      actor.put(`/api/v1/notification-templates/${body.id}`, { ...changed, ...more });
    assert.equal(
      (await put({ htmlBodyTemplate: HTML.replace("is on its way", "<b>arrives</b> tomorrow") })).status,
      200,
    );
    assert.equal(
      (await put({ subjectTemplate: "<script>alert(1)</script>", textBodyTemplate: null })).status,
      200,
    );

    await viewing.open(`templates/${body.id}`);
    await page.getByRole("link", { name: "Version 3" }).click();
    await page.getByRole("heading", { name: "Differences between version 2 and 3" }).waitFor();
    const subject = page.getByRole("region", { name: "Subject" });
    assert.match(await subject.innerText(), /- Order \{\{ number \}\}/);
    assert.match(await subject.innerText(), /\+ <script>alert\(1\)<\/script>/);
    await viewing.requireAccessible();
    await page.getByLabel("Older version").selectOption("1");
    await page.getByLabel("Newer version").selectOption("2");
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByRole("heading", { name: "Differences between version 1 and 2" }).waitFor();
    const html = await page.getByRole("region", { name: "HTML" }).innerText();
    assert.match(html, /- <p>your order is on its way\.<\/p>/);
    assert.match(html, /\+ <p>your order <b>arrives<\/b> tomorrow\.<\/p>/);
    assert.match(html, /3 unchanged lines/);
    assert.equal(await page.getByRole("region", { name: "Subject" }).count(), 0);

    await page.getByRole("link", { name: "Version 2" }).click();
    await page.getByText("Order 3").first().waitFor();
    for (
      const [scheme, background] of [["Light", "rgb(255, 255, 255)"], ["Dark", "rgb(16, 24, 32)"]] as const
    ) {
      await page.getByRole("link", { name: scheme }).click();
      await page.locator(`.tabs [aria-current]`, { hasText: scheme }).waitFor();
      const widths: number[] = [];
      for (const device of ["Phone, 375 pixels wide", "Desktop"]) {
        const frame = page.frameLocator(`iframe[title="${device}"]`);
        await frame.getByText("Hello Maria Silva,").waitFor();
        const seen = await frame.locator("body").evaluate<[string, number], unknown>(
          "[getComputedStyle(document.body).backgroundColor, innerWidth]",
        );
        assert.equal(seen[0], background, `${device}, ${scheme}`);
        widths.push(Number(seen[1]));
      }
      assert.equal(widths[0], 375);
      assert.ok((widths[1] ?? 0) > 600, `desktop: ${widths[1]}`);
      await viewing.requireAccessible();
    }
    const frame = await page.request.get(`${t.url}/console/templates/${body.id}/versions/2/body`);
    assert.match(frame.headers()["content-security-policy"] ?? "", /^sandbox; default-src 'none'/);

    await viewing.open(`templates/${body.id}/versions`);
    await page.locator("tr", { hasText: "Version 1" }).getByRole("button", { name: "Restore" }).click();
    await page.locator("dialog[open] [data-confirm-yes]").click();
    await page.getByText("The texts were restored as version 4.").waitFor();
    const { body: restored } = await actor.get(`/api/v1/notification-templates/${body.id}`);
    assert.deepEqual([restored.version, restored.subjectTemplate, restored.textBodyTemplate], [
      4,
      texts.subjectTemplate,
      texts.textBodyTemplate,
    ]);
    await viewing.close();
  },
);

inBrowser("built-in templates have versions too, which a tenant cannot restore", async (b) => {
  const actor = await t.actor({ permissions: ["send:notifications"] });
  const viewing = await openConsole(b, t, actor);
  const { items: [shipped] } = (await actor.get("/api/v1/notification-templates?includeShipped=true")).body;
  await viewing.open(`templates/${shipped.id}/versions`);
  await viewing.page.getByRole("heading", { name: "Versions", exact: true }).waitFor();
  assert.equal(await viewing.page.getByRole("button", { name: "Restore" }).count(), 0);
  await viewing.requireAccessible();
  await viewing.close();
});
