import assert from "node:assert/strict";
import { checkTenantIsolation, startForTest, until } from "@steward/steward/testing";
import extension from "./mod.ts";

const t = await startForTest({ extensions: [new URL("./mod.ts", import.meta.url).href] });
Deno.test.afterAll(() => t.stop());
const { tenantAdmin, visitor } = t;
const NOTES = "/api/v1/sample-notes";
const CSV = 3;

Deno.test("an admin writes notes; a visitor only reads them", async () => {
  const made = await tenantAdmin.post(NOTES, { title: "Call the bank" });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.equal((await visitor.get(`${NOTES}/${made.body.id}`)).body.title, "Call the bank");
  assert.equal((await visitor.post(NOTES, { title: "Mine" })).body.code, "MISSING_PERMISSION");
});

Deno.test("the job clears the notes that are done, and no others", async () => {
  const done = await tenantAdmin.post(NOTES, { title: "Old", isDone: true });
  const open = await tenantAdmin.post(NOTES, { title: "New" });
  const { status, body: job } = await tenantAdmin.post("/api/v1/jobs", {
    jobTypeName: "sample-notes.clear",
    serializedArgs: "{}",
  });
  assert.equal(status, 201, JSON.stringify(job));
  assert.equal(await t.settled(job.id), "Succeeded");
  assert.equal((await visitor.get(`${NOTES}/${done.body.id}`)).body.code, "SAMPLE_NOTE_NOT_FOUND");
  assert.equal((await visitor.get(`${NOTES}/${open.body.id}`)).status, 200);
});

Deno.test("a note is finished once, and a job will clear it", async () => {
  const { body: note } = await tenantAdmin.post(NOTES, { title: "Pay" });
  const { status, body } = await tenantAdmin.post(`${NOTES}/${note.id}/finish`);
  assert.equal(status, 202, JSON.stringify(body));
  assert.equal((await visitor.get(`${NOTES}/${note.id}`)).body.isDone, true);
  assert.equal((await t.systemAdmin.get(`/api/v1/jobs/${body.jobId}`)).body.status, "Scheduled");
  const again = await tenantAdmin.post(`${NOTES}/${note.id}/finish`);
  assert.equal(again.body.code, "SAMPLE_NOTE_DONE_CONFLICT");
});

Deno.test("the report lists the open notes", async () => {
  await tenantAdmin.post(NOTES, { title: "Reported" });
  const { body: run } = await tenantAdmin.post("/api/v1/reports/generate-async", {
    templateId: "sample-open-notes",
    format: CSV,
  });
  const { body: { url } } = await until(
    () => tenantAdmin.get(`/api/v1/reports/${run.id}/download`),
    ({ status }) => status === 200,
  );
  assert.match(await (await fetch(url)).text(), /Reported/);
});

checkTenantIsolation(t, {
  extension,
  samples: { sampleNote: (text) => ({ title: text }) },
  rows: {
    finishSampleNote: {
      names: (id) => ({ params: { id: id("sampleNote") } }),
      code: "SAMPLE_NOTE_NOT_FOUND",
    },
  },
  reports: { "sample-open-notes": {} },
  jobs: { "sample-notes.clear": () => ({}) },
  async objects(victim, text) {
    const { body } = await victim.post(NOTES, { title: text, isDone: true });
    return { doneNote: body.id };
  },
});
