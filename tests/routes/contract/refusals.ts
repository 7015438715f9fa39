// Refusals that follow from the declared access of an endpoint: token, permission, tenant, and kind of caller.
import { API_SCOPES, type ApiScope } from "../../../domain/rights/caller.ts";
import { newId } from "../../../domain/shared/ids.ts";
import type { Endpoint } from "../../../routes/shared/endpoint.ts";
import type { NewUser } from "../../../scripts/testing/people.ts";
import { accepted } from "../../support/outcomes.ts";
import type { Actor } from "../../support/setup.ts";
import { everyTenantPermission } from "../isolation/world.ts";
import { type By, codeOf, forAll } from "./calls.ts";
import type { Contract } from "./contract.ts";

/** A request that is wrong in every way: it names nothing that exists, and no endpoint accepts its body. */
const wrongAsk = ({ method }: Endpoint) => method === "get" ? {} : { body: [1] };

/** A valid GET, or a wrong request, which changes nothing even where the caller may send it. */
const askFor = (c: Contract, spec: Endpoint) => spec.method === "get" ? c.ask(spec) : wrongAsk(spec);

/** Callers who are refused by some endpoints. */
interface Refused {
  who: string;
  by: By;
  /** Status and code of the refusal. */
  refusal: string;
  /** Absent: by all endpoints. */
  isRefused?(spec: Endpoint): boolean;
}

/** Callers whose token or session is not accepted; the first has none. */
export async function withoutSession({ t }: Contract): Promise<Refused[]> {
  const { sql, tokens, config } = t.steward.platform;
  const issue = (lifeSeconds: number, subject: string = newId(), claims = { sid: newId(), ver: 1 }) =>
    tokens.issue({
      typ: "at+jwt",
      algorithm: "EdDSA",
      audience: config.TOKEN_AUDIENCE,
      subject,
      lifeSeconds,
      claims,
    });
  const [ended, changed] = [await t.actor(), await t.actor()];
  await sql`update sessions set revoked_at = now() where user_id = ${ended.userId}`;
  await sql`update users set security_version = security_version + 1 where id = ${changed.userId}`;
  const live = await t.actor();
  const [session] = await sql<{ id: string }[]>`select id from sessions where user_id = ${live.userId}`;
  const older = await issue(600, live.userId, { sid: session?.id ?? "", ver: 0 });
  const [head = "", payload = "", signature = ""] = (await issue(60)).split(".");
  const forged = `${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`;
  return [
    { who: "nobody", by: null, refusal: "401 TOKEN_MISSING" },
    { who: "a token that is none", by: { token: "none" }, refusal: "401 TOKEN_INVALID" },
    {
      who: "a token with another signature",
      by: { token: `${head}.${payload}.${forged}` },
      refusal: "401 TOKEN_INVALID",
    },
    { who: "an expired token", by: { token: await issue(-1) }, refusal: "401 TOKEN_EXPIRED" },
    { who: "an ended session", by: ended, refusal: "401 TOKEN_REVOKED" },
    { who: "a session before a change of rights", by: changed, refusal: "401 SESSION_INVALIDATED" },
    {
      who: "a token from before the last change of rights",
      by: { token: older },
      refusal: "401 SESSION_INVALIDATED",
    },
  ];
}

/** Callers of another kind than some endpoints accept; all have every permission of a tenant. */
export async function ofOtherKinds({ t }: Contract): Promise<Refused[]> {
  const { sql } = t.steward.platform;
  const permissions = everyTenantPermission;
  const [global, person, limited, proved] = await Promise.all([
    t.actor({ permissions, global: true }),
    t.actor({ permissions }),
    t.actor({ permissions }),
    t.actor({ permissions }),
  ]);
  const { body: key } = await person.post("/api/v1/api-keys", { name: "n", permissions });
  await sql`update tenants set require_second_factor = true where id = ${limited.tenantId}`;
  await sql`insert into user_factors (id, user_id, kind, name, secret, confirmed_at)
    values (${newId()}, ${proved.userId}, 'totp', 'n', 's', now())`;
  await sql`update sessions set amr = '{pwd,otp,mfa}', authenticated_at = now() - interval '1 day'
    where user_id = ${proved.userId}`;
  const link = await accepted((await t.actor({ permissions })).post("/api/v1/sign-in-setup-links"), 201);
  return [
    ...await Promise.all(API_SCOPES.map(async (scope): Promise<Refused> => ({
      who: `a client's token with the scope ${scope}`,
      by: { token: await clientToken(t, scope) },
      refusal: "403 FORBIDDEN",
      isRefused: ({ access }) => access.clientScope !== scope,
    }))),
    {
      who: "a set-up link",
      by: { token: link.url.split("#token=")[1] ?? "" },
      refusal: "403 FORBIDDEN",
      isRefused: ({ access }) => !access.forSetup,
    },
    {
      who: "a token without a tenant",
      by: global,
      refusal: "403 FORBIDDEN",
      isRefused: ({ id, access }) => access.needsTenant || id === "addTenantUser", // its access depends on the tenant in its path
    },
    {
      who: "an API key",
      by: { token: key.key },
      refusal: "403 FORBIDDEN",
      isRefused: ({ access }) => access.personsOnly === true,
    },
    {
      who: "a session without the required second factor",
      by: limited,
      refusal: "403 SECOND_FACTOR_REQUIRED",
      isRefused: ({ access }) => !access.forEnrolling,
    },
    {
      who: "a sign-in of yesterday",
      by: proved,
      refusal: "403 STEP_UP_REQUIRED_FORBIDDEN",
      isRefused: ({ access }) => access.needsStepUp === true && access.permissions.every(isOfTenants),
    },
  ];
}

/** A first-party client's token with a scope for the service's API, of a person with every permission of a tenant. */
async function clientToken(
  { actor, systemAdmin, steward: { platform } }: Contract["t"],
  scope: ApiScope,
): Promise<string> {
  const { userId, tenantId } = await actor({ permissions: everyTenantPermission });
  const audience = `https://${newId()}.test`;
  const made = systemAdmin.post("/api/v1/oauth-clients", {
    name: "n",
    kind: "confidential",
    redirectUris: ["https://own.test/"],
    firstParty: true,
    scopes: [scope],
    audience,
  });
  const client = await accepted(made, 201);
  const [session] = await platform.sql<{ id: string }[]>`select id from sessions where user_id = ${userId}`;
  const claims = {
    client_id: client.clientId,
    scope,
    sid: session?.id,
    ver: 1,
    tenant_id: tenantId,
  };
  const token = {
    typ: "at+jwt",
    algorithm: "EdDSA",
    audience,
    subject: userId,
    lifeSeconds: 3_600,
    claims,
  } as const;
  return await platform.tokens.issue(token);
}

const isOfTenants = (permission: string) => everyTenantPermission.includes(permission);

/**
 * All that the shared check of callers (`admit` in `domain/rights/checks.ts`) reads of an endpoint, and its area, which gives
 * the form of the refusal. `declared.txt` holds the declaration of every endpoint.
 */
function declarationOf({ id, area, method, access }: Endpoint): string {
  const { permissions, admit, ...others } = access;
  const own = id === "addTenantUser" || id === "signOut"; // refused to others than their declaration says
  const reach = permissions.length === 0 ? "none" : permissions.every(isOfTenants);
  return JSON.stringify([own && id, area, method === "get", reach, String(admit), others]);
}

/** One endpoint of each declaration: the refusals of others are the same. */
export const ofEachDeclaration = ({ withCaller }: Contract): Endpoint[] =>
  [...Map.groupBy(withCaller, declarationOf).values()].flatMap(([first]) => first ?? []);

/** The first check counts: the request is wrong in every other way too. Others are not refused for the same reason. */
export async function refusalMistakes(
  c: Contract,
  endpoints: readonly Endpoint[],
  callersOf: (nth: number) => Refused[],
): Promise<string[]> {
  return await forAll(endpoints, async (spec, nth) => {
    const found: string[] = [];
    for (const path of [spec.path, ...spec.alsoAt ?? []]) {
      for (const { who, by, refusal, isRefused = () => true } of callersOf(nth)) {
        if (spec.id === "signOut" && !isRefused(spec)) continue; // would end the session
        const headers: Record<string, string> = by && refusal.startsWith("401")
          ? { "x-tenant-id": "none", "idempotency-key": " " }
          : {};
        const expected = isRefused(spec);
        if (!expected && spec.method === "get") continue; // would only read once more
        const answer = codeOf(await c.send(by, spec, wrongAsk(spec), { path, headers }));
        if ((answer === refusal) !== expected) {
          found.push(`${spec.id} ${path} by ${who}: ${answer}, ${expected ? "" : "not "}expected ${refusal}`);
        }
      }
    }
    return found;
  });
}

/** Actors by what they hold. */
export interface Holders {
  /** Holds all permissions of tenants but these. */
  without(permissions: string[]): Actor;
  /** Holds only this permission; one of platform reach in the platform tenant, one of groups in a group. */
  only(permission: string): Actor;
}

export async function makeHolders({ t, world, withCaller }: Contract): Promise<Holders> {
  const actors = new Map<string, Actor>();
  const group = await t.tenant({ type: "Group" });
  const tenantOf = (permission: string) => {
    if (!isOfTenants(permission)) return t.platformTenantId;
    return /group|child/.test(permission) ? group : world.victim.tenantId ?? "";
  };
  const elsewhere = await t.tenant();
  const lists = withCaller.map(({ access }) => access.permissions).filter(({ length }) => length > 0);
  const holders = new Map<string, NewUser>(
    lists.flatMap((permissions): [string, NewUser][] => [
      ...permissions.map((
        each,
      ): [string, NewUser] => [each, { tenantId: tenantOf(each), permissions: [each] }]),
      [`not ${permissions}`, {
        tenantId: elsewhere,
        permissions: everyTenantPermission.filter((each) => !permissions.includes(each)),
      }],
    ]),
  );
  await forAll([...holders], async ([name, holder]) => {
    actors.set(name, await t.actor(holder));
    return [];
  });
  const get = (name: string) => {
    const actor = actors.get(name);
    if (!actor) throw new Error(`no endpoint needs ${name}`);
    return actor;
  };
  return { only: (permission) => get(permission), without: (permissions) => get(`not ${permissions}`) };
}

const MISSING = "403 MISSING_PERMISSION";

/** Without its permissions an endpoint is refused, whatever else the caller holds. */
export async function missingPermissionMistakes(c: Contract, { without }: Holders): Promise<string[]> {
  return await forAll(c.withCaller, async (spec) => {
    const { permissions } = spec.access;
    if (permissions.length === 0) return [];
    const answer = codeOf(await c.send(without(permissions), spec, askFor(c, spec)));
    return answer === MISSING ? [] : [`${spec.id} without ${permissions}: ${answer}, expected ${MISSING}`];
  });
}

/** Each permission alone suffices. */
export async function solePermissionMistakes(c: Contract, { only }: Holders): Promise<string[]> {
  return await forAll(c.withCaller, async (spec) => {
    const found: string[] = [];
    for (const permission of spec.access.permissions) {
      const answer = codeOf(await c.send(only(permission), spec, askFor(c, spec)));
      if (answer === MISSING) found.push(`${spec.id} with ${permission} alone: ${answer}`);
    }
    return found;
  });
}
