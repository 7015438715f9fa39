import assert from "node:assert/strict";
import { setup } from "../../support/setup.ts";
import { forgetFailures, PASSWORD, person, signIn } from "../auth/people.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());
Deno.test.beforeEach(() => forgetFailures(t));

/** Sends the form of the sign-in page, with the cookies of the browser. */
const submit = async (email: string, password: string, cookie = ""): Promise<Response> => {
  const body = new URLSearchParams({ do: "sign-in", email, password });
  const headers = { origin: t.url, cookie };
  const answer = await fetch(`${t.url}/console/sign-in`, {
    method: "POST",
    headers,
    body,
    redirect: "manual",
  });
  await answer.body?.cancel();
  return answer;
};

const deviceCookie = (answer: Response): string | undefined =>
  answer.headers.getSetCookie().find((cookie) => cookie.startsWith("steward_device="));

Deno.test("a browser that has signed in before goes on while others have locked the account", async () => {
  const { email } = await person(t);
  const first = await submit(email, PASSWORD);
  assert.equal(first.status, 303);
  const set = deviceCookie(first) ?? "";
  assert.match(set, /^steward_device=[\w-]{43}; .*HttpOnly/);
  assert.match(set, /Max-Age=7776000/);
  assert.match(set, /SameSite=Strict/);
  const cookie = set.split(";")[0] ?? "";
  for (let n = 0; n < 5; n++) assert.equal((await signIn(t, email, "wrong")).status, 401);
  assert.equal((await submit(email, PASSWORD)).status, 401, "an unknown browser");
  assert.equal((await submit(email, PASSWORD, "steward_device=forged")).status, 401);
  const again = await submit(email, PASSWORD, cookie);
  assert.equal(again.status, 303);
  assert.equal(deviceCookie(again)?.split(";")[0], cookie);
});

Deno.test("a failed sign-in and an oversized cookie set no device", async () => {
  const { email } = await person(t);
  assert.equal(deviceCookie(await submit(email, "wrong")), undefined);
  const oversized = await submit(email, PASSWORD, `steward_device=${"x".repeat(3_000)}`);
  assert.equal(oversized.status, 303);
  assert.match(deviceCookie(oversized) ?? "", /^steward_device=[\w-]{43};/);
});

Deno.test("who is locked out is told when to try again, in both languages", async () => {
  const { email } = await person(t);
  for (let n = 0; n < 5; n++) await signIn(t, email, "wrong");
  const told = async (locale: string) => {
    const answer = await fetch(`${t.url}/console/sign-in`, {
      method: "POST",
      headers: { origin: t.url, "accept-language": locale },
      body: new URLSearchParams({ do: "sign-in", email, password: PASSWORD }),
    });
    return await answer.text();
  };
  assert.match(await told("en"), /You can try again in 15 minutes\./);
  assert.match(await told("pt-BR"), /Você pode tentar de novo em 15 minutos\./);
});

Deno.test("an address over the limit of failed sign-ins is told when to try again", async () => {
  const { email } = await person(t);
  await t.steward.platform.sql`insert into failed_sign_ins (subject, failed_at, last_failed_at)
    values ('address:127.0.0.1', array(select now() - interval '70 seconds' from generate_series(1, 30)), now())
    on conflict (subject) do update set failed_at = excluded.failed_at`;
  const answer = await fetch(`${t.url}/console/sign-in`, {
    method: "POST",
    headers: { origin: t.url },
    body: new URLSearchParams({ do: "sign-in", email, password: PASSWORD }),
  });
  assert.match(await answer.text(), /You can try again in 4 minutes\./);
});
