// The service with the extensions of channels, records and pages, which two test files share, and what they talk to.
import process from "node:process";
import { setupShared, type TestService } from "../../support/setup.ts";
import { startSmsGateway } from "../../support/sms_gateway.ts";
import { afterAllFiles } from "../../support/test_files.ts";

interface Received {
  url: string;
  headers: Headers;
  body: string;
}

/** A receiver on loopback. The answer of a path is that of `answers`, default 200. */
const received: Received[] = [];
export const answers = new Map<string, () => Response>();
const receiver = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
  const { pathname } = new URL(request.url);
  received.push({ url: pathname, headers: request.headers, body: await request.text() });
  return answers.get(pathname)?.() ?? new Response("ok");
});
export const base = `http://127.0.0.1:${receiver.addr.port}`;
/** The requests for a path. */
export const at = (url: string) => received.filter((request) => request.url === url);
export const gateway = startSmsGateway();
afterAllFiles(async () => {
  await gateway[Symbol.asyncDispose]();
  await receiver.shutdown();
});

export const SECRET = `whsec_${btoa("a secret of 24 bytes or more")}`;
process.env.PAGER_URL = base;
process.env.WEBHOOK_CHANNEL_SECRET = SECRET;

const scripts = "../../../scripts";
const modules = [
  ...[`${scripts}/extensions/slack`, `${scripts}/extensions/webhook`, "./pager"],
  ...["./parcels", `${scripts}/example`],
].map((folder) => new URL(`${folder}/mod.ts`, import.meta.url).href);

export const setupExtensions = (): Promise<TestService> =>
  setupShared({
    STEWARD_EXTENSIONS: modules.join(),
    OUTBOUND_ALLOW: `127.0.0.1:${receiver.addr.port}`,
    SMS_URL: gateway.smsUrl,
    SMTP_URL: "smtp://127.0.0.1:1", // no mail server listens there
  });
