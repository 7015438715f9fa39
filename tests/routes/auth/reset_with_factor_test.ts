import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { appUser, clock, finish } from "./factors.ts";
import { mailsTo, withJobs } from "./mails.ts";
import { signIn } from "./people.ts";

const t = await setupShared({}, { clock });
Deno.test.afterAll(() => t.stop());

Deno.test("a password reset signs nobody in, and the next sign-in still needs the second factor", async () => {
  const user = await appUser(t);
  await withJobs(t, () => t.nobody.post("/api/v1/auth/forgot-password", { email: user.email }));
  const mail = (await mailsTo(t, user.email)).map(({ textBody }) => textBody).find((text) =>
    text.includes("#")
  );
  const [, token] = /#(?:token=)?([\w-]{43})/.exec(mail ?? "") ?? [];
  const newPassword = "a wholly different passphrase";
  const reset = await t.nobody.post("/api/v1/auth/reset-password", { token, newPassword });
  assert.ok(reset.status < 300, JSON.stringify(reset.body));
  assert.ok(!JSON.stringify(reset.body ?? null).includes("accessToken"));
  const { status, body } = await signIn(t, user.email, newPassword);
  assert.deepEqual([status, body.code], [401, "SECOND_FACTOR_REQUIRED_UNAUTHORIZED"]);
  const done = await finish(t, body.factorToken, { code: user.app.code() });
  assert.equal(done.status, 200, JSON.stringify(done.body));
});
