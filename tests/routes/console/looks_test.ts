import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { pngImage } from "../../support/images.ts";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();
const tenantId = await t.tenant();
const manager = await t.actor({ tenantId, permissions: ["manage:settings", "send:notifications"] });

inBrowser(
  "looks are changed with a preview, a hard to read colour is refused, and a logo is uploaded",
  async (b) => {
    const viewing = await openConsole(b, t, manager);
    const { page } = viewing;
    await viewing.open("looks");
    await page.getByLabel("Product name").fill("Wind & Co");
    await page.getByLabel("Primary colour", { exact: true }).fill("#ffdd00");
    const frame = page.frameLocator("iframe.preview");
    await frame.getByText("Wind & Co").waitFor();
    // The preview is drawn after each of the two changes.
    const button = frame.getByRole("link", { name: "Follow the order" });
    await button.and(frame.locator('[style*="background:#ffdd00;color:#000000"]')).waitFor();
    await page.getByLabel("Text on the primary colour").fill("#ffffff");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText(/has a contrast of 1\.3:1/).waitFor();
    viewing.forgive();
    await page.getByLabel("Text on the primary colour").fill("");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The looks were saved.").waitFor();
    await page.getByLabel("Image").setInputFiles({
      name: "logo.png",
      mimeType: "image/png",
      buffer: Buffer.from(pngImage(40, 20)),
    });
    await page.getByRole("button", { name: "Upload the logo" }).click();
    await page.getByText("The logo was saved.").waitFor();
    await frame.locator("img.logo").waitFor();
    const { body } = await manager.get("/api/v1/tenant-looks");
    assert.deepEqual([body.productName, body.primaryColour, body.textColour, body.logo.width], [
      "Wind & Co",
      "#ffdd00",
      null,
      40,
    ]);
    await viewing.close();
  },
);

inBrowser("a sender address is added, its record is shown, and it is removed", async (b) => {
  const viewing = await openConsole(b, t, manager);
  const { page } = viewing;
  await viewing.open("senders");
  assert.equal(await page.getByRole("search").count(), 0, "there is nothing to filter, and nothing to clear");
  await page.getByText("Add an address").click();
  await page.getByLabel("Address").fill("orders@northwind.example");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText("The address was added. Now prove it.").waitFor();
  await page.getByText("_steward.northwind.example").first().waitFor();
  await page.getByRole("button", { name: "Remove" }).click();
  await page.locator("dialog[open] [data-confirm-yes]").click();
  await page.getByText("The address was removed.").waitFor();
  await viewing.close();
});
