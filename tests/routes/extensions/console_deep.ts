import assert from "node:assert/strict";
import { join } from "node:path";
import "./billing.ts";
import { openConsole, setupConsole } from "../console/support.ts";

const module = join(import.meta.dirname ?? ".", "acme/mod.ts");
const { t, inBrowser } = await setupConsole({ STEWARD_EXTENSIONS: module });

inBrowser("a resource of an extension is listed, created, changed and deleted in the console", async (b) => {
  const admin = await t.actor({ role: "Admin" });
  const viewing = await openConsole(b, t, admin);
  const { page } = viewing;
  await viewing.open("customers");
  await page.getByText("No customers yet").waitFor();
  await viewing.requireAccessible();
  await page.getByRole("link", { name: "New customer" }).click();
  await page.getByLabel("Number").fill("C-1");
  await page.getByLabel("Name").fill("<b>Ana</b> Lda.");
  await page.getByLabel("Credit limit").fill("much");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("Enter a number.").first().waitFor();
  await viewing.requireAccessible();
  await page.getByLabel("Credit limit").fill("12.5");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("<b>Ana</b> Lda. was created.").waitFor();

  await page.getByRole("row", { name: "C-1" }).getByRole("link").click();
  assert.equal(await page.getByLabel("Name").inputValue(), "<b>Ana</b> Lda.");
  await page.getByLabel("Name").fill("Ana SA");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Ana SA was saved.").waitFor();
  await page.getByLabel("Search").fill("ana");
  await page.getByRole("row", { name: "Ana SA" }).waitFor();
  const { body } = await admin.get("/api/v1/customers");
  assert.deepEqual(body.items.map(({ name, credit }: Record<string, unknown>) => [name, credit]), [[
    "Ana SA",
    12.5,
  ]]);

  await page.getByRole("row", { name: "C-1" }).getByRole("link").click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.locator("dialog[open] [data-confirm-yes]").click();
  await page.getByText("Ana SA was deleted.").waitFor();
});

inBrowser(
  "pages of an extension's resource have its words in the viewer's language, and no actions for readers",
  async (b) => {
    const admin = await t.actor({ role: "Admin" });
    const { body } = await admin.post("/api/v1/customers", { number: "C-9", name: "Rui", credit: 1 });
    const reader = await t.actor({ tenantId: admin.tenantId ?? "", role: "Visitor" });
    const viewing = await openConsole(b, t, reader, { locale: "pt-PT" });
    const { page } = viewing;
    await viewing.open(`customers/${body.id}`);
    assert.ok(await page.getByLabel("Limite de crédito").isDisabled());
    assert.equal(await page.getByRole("button", { name: /Salvar|Excluir/ }).count(), 0);
    await page.getByRole("navigation", { name: "Seções" }).getByRole("link", { name: "Clientes" }).click();
    await page.getByRole("heading", { name: "Clientes" }).waitFor();
    await page.getByRole("row", { name: "C-9" }).waitFor();
  },
);
