import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { ageSignIns, appUser, clock } from "../auth/factors.ts";
import { PASSWORD } from "../auth/people.ts";
import { makeClient } from "./flow.ts";

const t = await setupShared({}, { clock });
Deno.test.afterAll(() => t.stop());

Deno.test("changing where a client's users go, or what its tokens are for, needs a recent sign-in", async () => {
  const user = await appUser(t, { links: [t.platformTenantId], role: "SystemAdmin" });
  const { id, audience } = await makeClient(t.systemAdmin, { firstParty: false });
  const put = (change: Record<string, unknown>) => user.client.put(`/api/v1/oauth-clients/${id}`, change);
  await ageSignIns(t, user.id);
  const sensitive = [
    { redirectUris: ["https://other.test/callback"] },
    { postLogoutRedirectUris: ["https://other.test/bye"] },
    { audience: `${audience}/other` },
    { firstParty: true },
  ];
  for (const change of sensitive) {
    const { status, body } = await put({ ...change, name: "Other" });
    assert.deepEqual([status, body.code], [403, "STEP_UP_REQUIRED_FORBIDDEN"], Object.keys(change)[0]);
  }
  const same = { redirectUris: ["https://app.test/callback"], audience, name: "Renamed" };
  assert.equal((await put(same)).body.name, "Renamed", "the same values change nothing sensitive");
  await user.client.post("/api/v1/auth/step-up", { password: PASSWORD, code: user.app.code() });
  for (const change of sensitive) assert.equal((await put(change)).status, 200);
});
