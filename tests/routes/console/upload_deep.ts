import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { noise } from "../../support/content.ts";
import { pdf, zip } from "../../support/samples.ts";
import { ALL } from "../files/uploading.ts";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();

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
  assert.equal(puts.length, 4);
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
