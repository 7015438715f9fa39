import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { eicar, noise } from "../../support/content.ts";
import { pdf, zip } from "../../support/samples.ts";
import type { Actor } from "../../support/setup.ts";
import { ALL, Uploading } from "../files/uploading.ts";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();
const files = new Uploading(t);

const folder = await Deno.makeTempDir({ prefix: "console-files-" });
Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));
async function choose(page: Page, name: string, bytes: Uint8Array) {
  await Deno.writeFile(`${folder}/${name}`, bytes);
  await page.setInputFiles("input[type=file]", `${folder}/${name}`);
}
const startUpload = (page: Page) => page.getByRole("button", { name: "Upload", exact: true }).click();
const notice = (page: Page, title: string) =>
  page.locator("#file-state .notice-title", { hasText: title }).waitFor();

inBrowser("a file is uploaded with progress, scanned, and downloaded unchanged", async (b) => {
  const viewing = await openConsole(b, t, await t.actor({ permissions: ALL }));
  const { page } = viewing;
  const content = pdf();
  const name = "Relatório “final” & 2026 日本語.pdf";
  await viewing.open("files");
  await page.getByRole("link", { name: "Upload a file" }).click();
  await page.evaluate(`{
    const bar = document.querySelector("progress");
    new MutationObserver(() => sessionStorage.setItem("shown", (sessionStorage.getItem("shown") ?? "") + " " + bar.value))
      .observe(bar, { attributes: true });
  }`);
  await choose(page, name, content);
  await startUpload(page);
  await notice(page, "Available");
  assert.match(await page.evaluate<string>("sessionStorage.getItem('shown')"), /100/);
  assert.equal(await page.getByRole("heading", { level: 1 }).textContent(), name);
  assert.equal(await page.locator(".timeline > li").count(), 1);
  await page.getByText("Clean").waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Download" }).click(),
  ]);
  assert.deepEqual(await Deno.readFile(await download.path()), content);
  await viewing.requireAccessible();
  await viewing.close();
});

inBrowser("a large file is uploaded in parts", async (b) => {
  const actor = await t.actor({ permissions: ALL });
  const viewing = await openConsole(b, t, actor);
  const { page } = viewing;
  const puts: string[] = [];
  page.on("request", (request) => request.method() === "PUT" && puts.push(request.url()));
  await viewing.open("files/upload");
  await page.getByLabel("Profile").selectOption("archive");
  const content = zip([["noise.bin", noise(33 * 1024 * 1024)]]);
  await choose(page, "large.zip", content);
  await startUpload(page);
  await notice(page, "Available");
  assert.equal(puts.length, 3);
  assert.ok(puts.every((url) => url.includes("partNumber=")));
  const { body } = await actor.get("/api/v1/files");
  assert.equal(body.items[0].sizeBytes, content.length);
  await viewing.close();
});

inBrowser("files that cannot be uploaded are refused at once, and another can be chosen", async (b) => {
  const viewing = await openConsole(b, t, await t.actor({ permissions: ALL }), { locale: "pt-PT" });
  const { page } = viewing;
  await viewing.open("files/upload");
  const send = () => page.getByRole("button", { name: "Enviar", exact: true }).click();
  await choose(page, "nothing.txt", new Uint8Array());
  await send();
  await page.getByText("O arquivo está vazio.").waitFor();
  await page.getByLabel("Perfil").selectOption("image");
  await choose(page, "large.png", new Uint8Array(21 * 1024 * 1024));
  await send();
  await page.getByText("maior do que este perfil permite (20 MiB)").waitFor();
  await choose(page, "words.txt", new Uint8Array(5));
  await send();
  await page.getByText("O perfil não permite arquivos deste tipo.").waitFor();
  viewing.forgive();
  await viewing.requireAccessible();
  await page.getByLabel("Perfil").selectOption("document");
  await send();
  await page.waitForURL(/files\/[0-9a-f-]{36}$/);
  await viewing.close();
});

inBrowser("the page of a file with malware changes to Infected and names the signature", async (b) => {
  const viewing = await openConsole(b, t, await t.actor({ permissions: ALL }), {
    theme: "dark",
    phone: true,
  });
  const { page } = viewing;
  await viewing.open("files/upload");
  await viewing.requireNoSidewaysScroll();
  await choose(page, "eicar.txt", eicar());
  await startUpload(page);
  await notice(page, "Infected");
  await page.getByText(/The scan found Eicar.*content was deleted/).waitFor();
  assert.equal(await page.getByRole("link", { name: "Download" }).count(), 0);
  assert.equal(await page.getByRole("button", { name: "Purge" }).count(), 0);
  await viewing.requireAccessible();
  await viewing.requireNoSidewaysScroll();
  await viewing.close();
});

inBrowser(
  "references and a legal hold are explained and prevent a purge; afterwards the record stays",
  async (b) => {
    const actor = await t.actor({ permissions: [...ALL, "admin:system"] });
    const { id } = await files.uploadAndScan(actor);
    await actor.post(`/api/v1/files/${id}/references`, { scope: "invoice", ownerId: "2026/42" });
    const viewing = await openConsole(b, t, actor);
    const { page } = viewing;
    const purge = async () => {
      await page.locator("#purge").getByLabel("Reason").fill("no longer needed");
      await page.locator("#purge").getByRole("button", { name: "Purge" }).click();
      await page.locator("dialog[open] [data-confirm-yes]").click();
    };
    await viewing.open(`files/${id}`);
    await page.getByText("1 reference uses this file").waitFor();
    assert.equal(await page.getByRole("button", { name: "Purge" }).count(), 0);
    await page.getByText("Not while it has references").waitFor();
    const release = async () => {
      await page.getByRole("button", { name: "Release" }).click();
      await page.locator("dialog[open] [data-confirm-yes]").click();
      await page.getByText("The reference was released.").waitFor();
    };
    await release();
    await actor.post(`/api/v1/files/${id}/references`, { scope: "invoice", ownerId: "2026/43" });
    await purge();
    await page.getByText("The file still has references").waitFor();
    await page.locator(".notice li", { hasText: "invoice" }).waitFor();
    viewing.forgive();
    await viewing.requireAccessible();
    await release();
    const keep = page.locator("#retention");
    await keep.getByLabel("Legal hold").check();
    await keep.getByLabel("Keep until").fill("2031-05-04T12:30");
    await keep.getByLabel("Reason").fill("court <b>42</b>");
    await keep.getByRole("button", { name: "Save" }).click();
    await page.getByText("The retention was changed.").waitFor();
    await page.getByText(/Set by .*: court <b>42<\/b>/).waitFor();
    await page.getByText("You can release it here.").waitFor();
    await page.getByText("Not while it is under legal hold").waitFor();
    await viewing.requireAccessible();
    const colleague = await openConsole(
      b,
      t,
      await t.actor({ permissions: ALL, tenantId: actor.tenantId ?? "" }),
    );
    await colleague.open(`files/${id}`);
    await colleague.page.getByText("Only a system administrator can release it").waitFor();
    assert.equal(await colleague.page.getByLabel("Legal hold").count(), 0);
    await colleague.close();
    assert.equal((await actor.get(`/api/v1/files/${id}`)).body.retainUntil, "2031-05-04T11:30:00.000Z");
    await page.locator("#purge").getByText("The file is under legal hold. Release the hold").waitFor();
    assert.equal(await page.getByRole("button", { name: "Purge" }).count(), 0);
    await keep.getByLabel("Legal hold").uncheck();
    await keep.getByLabel("Keep until").fill("2030-05-04T12:30");
    await keep.getByRole("button", { name: "Save" }).click();
    await page.getByText("The retention can be extended, not shortened").waitFor();
    viewing.forgive();
    await keep.getByLabel("Keep until").fill("2031-05-04T12:30");
    await keep.getByRole("button", { name: "Save" }).click();
    await page.getByText("The retention was changed.").waitFor();
    await purge();
    await notice(page, "Purged");
    await page.getByText("no longer needed").waitFor();
    assert.equal(await page.locator("#retention, #purge").count(), 0);
    await viewing.requireAccessible();
    await viewing.close();
  },
);

inBrowser(
  "the list is filtered by the query and by the form, also in Portuguese and on a phone",
  async (b) => {
    const actor = await t.actor({ permissions: ALL });
    const { tenantId } = actor;
    await files.fileIn("Failed", { tenantId });
    await files.fileIn("Purged", { tenantId, legalHold: false });
    await files.reserve(actor, { bytes: new Uint8Array(3), fileName: "Informe_Über.txt" });
    const viewing = await openConsole(b, t, actor, { locale: "pt-PT", theme: "dark", phone: true });
    const { page } = viewing;
    const rows = page.locator("#files-list tbody tr");
    await viewing.open("files");
    await page.locator("#scanner .figure").nth(2).waitFor();
    assert.equal(await page.title(), "Arquivos · Steward");
    assert.equal(await rows.count(), 3);
    await viewing.requireAccessible();
    await viewing.requireNoSidewaysScroll();
    await page.getByLabel("Buscar nomes").fill("uber");
    await page.waitForURL(/search=uber/);
    await rows.nth(1).waitFor({ state: "detached" });
    assert.match(await rows.first().textContent() ?? "", /Informe_Über/);
    await viewing.open("files?status=Failed&show=held");
    await page.getByText("Nada corresponde a estes filtros.").waitFor();
    await viewing.close();
  },
);

inBrowser("each viewer sees only the actions they may use, and is refused the others", async (b) => {
  const owner = await t.actor({ permissions: ALL });
  const { id } = await files.uploadAndScan(owner);
  const tenantId = owner.tenantId ?? "";
  const look = async (actor: Actor) => {
    const viewing = await openConsole(b, t, actor);
    const { page } = viewing;
    const told = {
      list: await viewing.open("files"),
      nav: await page.locator("nav.sections a[href=files]").count(),
      upload: await page.getByRole("link", { name: "Upload a file" }).count(),
      file: await viewing.open(`files/${id}`),
      forms: await page.locator("#retention, #purge").count(),
      uploadPage: await viewing.open("files/upload"),
    };
    viewing.forgive();
    await viewing.close();
    return told;
  };
  const nothing = { list: 403, nav: 0, upload: 0, file: 403, forms: 0, uploadPage: 403 };
  assert.deepEqual(await look(t.systemAdmin), nothing, "admin:system stands in for no file permission");
  assert.deepEqual(await look(await t.actor({ permissions: [], tenantId })), nothing);
  assert.deepEqual(await look(await t.actor({ role: "Admin", tenantId })), {
    list: 200,
    nav: 1,
    upload: 1,
    file: 200,
    forms: 0,
    uploadPage: 200,
  });
  assert.deepEqual(await look(await t.actor({ role: "Visitor", tenantId })), {
    list: 200,
    nav: 1,
    upload: 0,
    file: 200,
    forms: 0,
    uploadPage: 403,
  });
  assert.deepEqual(await look(await t.actor({ role: "Visitor" })), {
    list: 200,
    nav: 1,
    upload: 0,
    file: 404,
    forms: 0,
    uploadPage: 403,
  });
});
