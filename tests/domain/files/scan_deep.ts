import assert from "node:assert/strict";
import { scanFile } from "../../../domain/files/scan.ts";
import { PostponeJob } from "../../../domain/jobs/job_type.ts";
import { clamdScanner } from "../../../infra/scanner/clamd.ts";
import { ALL, type Content, Uploading } from "../../routes/files/uploading.ts";
import { atEnd } from "../../support/at_end.ts";
import { clamdInstalled, startClamd } from "../../support/clamd.ts";
import { eicar } from "../../support/content.ts";
import { utf8 } from "../../support/samples.ts";
import { setup } from "../../support/setup.ts";

Deno.test({
  name: "clamd scans as YARA-X does, and a stream over its limit is an error and not clean",
  ignore: !clamdInstalled,
  async fn() {
    await using t = await setup({ JOB_CONCURRENCY: "0" });
    const actor = await t.actor({ permissions: ALL });
    const clamd = await startClamd({ streamMaxLength: "1M" });
    await using _clamd = atEnd(() => clamd.stop());
    const scanner = clamdScanner({ host: clamd.host, port: clamd.port });
    await using _scanner = atEnd(() => scanner.close());
    const p = t.platform;
    const upload = async (content?: Content) => (await new Uploading(t).upload(actor, content)).fileId;
    const attempt = (id: string, change: Partial<typeof p> = { scanner }) =>
      scanFile({ ...p, ...change }, id, new AbortController().signal);
    const infected = await upload({ bytes: eicar() });
    assert.equal(await attempt(infected), "Infected");
    assert.match((await actor.get(`/api/v1/files/${infected}`)).body.signatureName, /Eicar/);
    assert.equal(await attempt(await upload()), "Available");
    const large = await upload({ bytes: utf8("a".repeat(3_000_000)) });
    await assert.rejects(attempt(large), PostponeJob);
    const [seen] = (await actor.get(`/api/v1/files/${large}/scan-attempts`)).body;
    assert.match(seen.engine, /ClamAV/);
    assert.doesNotMatch(JSON.stringify(seen), /127\.0\.0\.1/);
    assert.equal(await attempt(large, {}), "Available");
  },
});
