import assert from "node:assert/strict";
import { eicar } from "../../support/content.ts";
import { pdf } from "../../support/samples.ts";
import { accepted } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { ALL, Uploading } from "../files/uploading.ts";
import { browse, browseAt } from "./plain_browser.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const files = new Uploading(t);

Deno.test("a file is reserved and confirmed by the forms of the upload script, and downloaded unchanged", async () => {
  const actor = await t.actor({ permissions: ALL });
  const browser = await browse(t, actor);
  const [content, fileName] = [pdf(), "Relatório “final” & 2026 日本語.pdf"];
  const pdfFile = { profile: "document", fileName, contentType: "application/pdf" };
  const reserve = (bytes: number) => browser.submit("files/upload", { ...pdfFile, sizeBytes: `${bytes}` });
  const refused = await reserve(0);
  assert.deepEqual([refused.status, typeof JSON.parse(refused.html).problem], [400, "string"]);
  const reservation = JSON.parse((await reserve(content.length)).html);
  assert.equal(await files.put(reservation, content), 200);
  const { html } = await browser.submit(`files/${reservation.fileId}/complete`);
  const { goTo } = JSON.parse(html);
  await browser.visit(goTo);
  assert.equal((await browser.waitFor("Download")).shows("Clean").heading, fileName);
  const { location } = await browser.follow("Download");
  assert.deepEqual(new Uint8Array(await (await fetch(location)).arrayBuffer()), content);
});

Deno.test("the page of a file with malware says what was found, and that its content was deleted", async () => {
  const actor = await t.actor({ permissions: ALL });
  const { id } = await files.uploadAndScan(actor, { bytes: eicar(), fileName: "eicar.txt" });
  const page = await (await browse(t, actor)).visit(`files/${id}`);
  page.shows("Infected", /The scan found Eicar.*content was deleted/);
  assert.deepEqual(page.offers.filter((name) => ["Download", "Purge"].includes(name)), []);
});

Deno.test("the legal hold of an infected file, or of a reservation, is released at its page", async () => {
  const actor = await t.actor({ permissions: [...ALL, "admin:system"] });
  const { tenantId } = actor;
  const id = await files.fileIn("Infected", { tenantId, legalHold: true });
  const browser = await browse(t, actor);
  (await browser.visit(`files/${id}`)).shows("The content is deleted when the legal hold is released");
  (await browser.press("Save", { "Legal hold": false })).shows("The retention was changed.");
  browser.page.shows("The content was deleted");
  assert.ok(!browser.page.offers.includes("Save"));
  await browser.visit(`files/${await files.fileIn("Pending", { tenantId, legalHold: true })}`);
  (await browser.press("Save", { "Legal hold": false })).lacks("Under legal hold");
  const rejected = await files.fileIn("Purged", { tenantId, legalHold: true });
  (await browser.visit(`files/${rejected}`)).lacks("Under legal hold");
});

Deno.test("references and a legal hold are explained and prevent a purge; afterwards the record stays", async () => {
  const actor = await t.actor({ permissions: [...ALL, "admin:system"] });
  const { id } = await files.uploadAndScan(actor);
  const refer = (ownerId: string) =>
    actor.post(`/api/v1/files/${id}/references`, { scope: "invoice", ownerId });
  await refer("2026/42");
  const browser = await browse(t, actor);
  const used = await browser.visit(`files/${id}`);
  used.shows("1 reference uses this file", "Not while it has references");
  assert.ok(!used.offers.includes("Purge"));
  (await browser.press("Release")).shows("The reference was released.");
  await refer("2026/43");
  const refused = await browser.press("Purge", { Reason: "no longer needed" });
  refused.shows("The file still has references", "invoice");
  await browser.press("Release");
  const hold = { "Legal hold": true, "Keep until": "2031-05-04T12:30", Reason: "court <b>42</b>" };
  const held = await browser.press("Save", hold);
  held.shows("The retention was changed.", /Set by .*: court <b>42<\/b>/, "You can release it here.");
  held.shows("Not while it is under legal hold", "The file is under legal hold. Release the hold");
  assert.ok(!held.offers.includes("Purge"));
  assert.equal((await actor.get(`/api/v1/files/${id}`)).body.retainUntil, "2031-05-04T11:30:00.000Z");
  await accepted(actor.get(`/api/v1/files/${id}/download-url`));
  (await browser.follow("Change history")).shows("requested a download of file", "file.retention");
  await browser.visit(`files/${id}`);
  const colleague = await browse(t, await t.actor({ permissions: ALL, tenantId: actor.tenantId ?? "" }));
  await colleague.visit(`files/${id}`);
  colleague.page.shows("Only a system administrator can release it");
  assert.equal(colleague.page.controls("Legal hold").length, 0);
  const shorter = await browser.press("Save", { "Legal hold": false, "Keep until": "2030-05-04T12:30" });
  shorter.shows("The retention can be extended, not shortened");
  await browser.press("Save", { "Keep until": "2031-05-04T12:30" });
  browser.page.shows("The retention was changed.");
  const purged = await browser.press("Purge", { Reason: "no longer needed" });
  purged.shows("Purged", "no longer needed");
  assert.deepEqual(purged.offers.filter((name) => ["Save", "Purge"].includes(name)), []);
});

Deno.test("an operator finds why a file was rejected", async () => {
  const actor = await t.actor({ permissions: ALL });
  const { tenantId } = actor;
  const rejected = await files.fileIn("Purged", { tenantId });
  await files.fileIn("Purged", { tenantId });
  await sql`update files set file_name = 'virus.txt', purge_reason = 'job:size-mismatch' where id = ${rejected}`;
  const browser = await browseAt(t, actor, "");
  await browser.follow("Files");
  (await browser.press("Filter", { Status: "Rejected" })).lacks("a.txt");
  (await browser.follow("virus.txt")).shows("The uploaded size differs from the reserved size.");
});
