// A fake of Google's token endpoint and Firebase Cloud Messaging (HTTP v1) on loopback.
import { exportPKCS8, importJWK, jwtVerify } from "jose";
import { readSigningKey } from "../../infra/signing_keys.ts";
import { rsaKey } from "./rsa_key.ts";

const SCOPE = "https://www.googleapis.com/auth/firebase.messaging";
const ERROR = "type.googleapis.com/google.firebase.fcm.v1.FcmError";
const BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest";

export interface AcceptedPush {
  token: string;
  notification: { title?: string; body?: string };
  data: Record<string, string>;
}

const failure = (
  code: number,
  status: string,
  message: string,
  details: object[] = [],
  retryAfter: string | null = null,
) =>
  Response.json({ error: { code, message, status, ...(details.length ? { details } : {}) } }, {
    status: code,
    headers: retryAfter === null ? {} : { "retry-after": retryAfter },
  });
const fcmError = (errorCode: string) => [{ "@type": ERROR, errorCode }];
const violation = (field: string, description: string) => ({
  "@type": BAD_REQUEST,
  fieldViolations: [{ field, description }],
});

/** The refusals of device tokens, by their prefix. */
const REFUSALS: Record<string, Parameters<typeof failure>> = {
  gone: [404, "NOT_FOUND", "Requested entity was not found.", fcmError("UNREGISTERED")],
  bad: [
    400,
    "INVALID_ARGUMENT",
    "The registration token is not a valid FCM registration token",
    fcmError("INVALID_ARGUMENT"),
  ],
  badly: [400, "INVALID_ARGUMENT", "Request contains an invalid argument.", [
    ...fcmError("INVALID_ARGUMENT"),
    violation("message.token", "Invalid registration token"),
  ]],
  foreign: [403, "PERMISSION_DENIED", "SenderId mismatch", fcmError("SENDER_ID_MISMATCH")],
  apns: [401, "UNAUTHENTICATED", "Auth error from APNS", fcmError("THIRD_PARTY_AUTH_ERROR")],
  broken: [500, "INTERNAL", "Internal error encountered.", fcmError("INTERNAL")],
};

/**
 * The answer depends on the prefix of the device token: gone… 404 UNREGISTERED, bad… 400 for the token, foreign…
 * 403 SENDER_ID_MISMATCH, quota… 429, busy… 503, broken… 500, apns… 401 THIRD_PARTY_AUTH_ERROR, all others 200. A data key that FCM
 * reserves, or more than 4,096 bytes, is a 400 for the message.
 */
export async function startFcm() {
  const key = await rsaKey();
  const privateKey = await importJWK(key, "RS256", { extractable: true }) as CryptoKey;
  const { publicKey: verifyingKey } = await readSigningKey(key);
  let live = new Set<string>();
  let concurrent = 0;
  let busyLeft = new Map<string, number>();

  const signIn = async (request: Request): Promise<Response> => {
    const form = new URLSearchParams(await request.text());
    const refuse = (error_description: string) =>
      Response.json({ error: "invalid_grant", error_description }, { status: 400 });
    if (form.get("grant_type") !== "urn:ietf:params:oauth:grant-type:jwt-bearer") {
      return Response.json({ error: "unsupported_grant_type" }, { status: 400 });
    }
    if (fcm.isKeyRevoked) return refuse("Invalid JWT Signature.");
    try {
      const { payload, protectedHeader } = await jwtVerify(form.get("assertion") ?? "", verifyingKey, {
        algorithms: ["RS256"],
        issuer: fcm.account.client_email,
        audience: fcm.account.token_uri,
        requiredClaims: ["iat", "exp"],
      });
      if (protectedHeader.kid !== fcm.account.private_key_id) return refuse("Unknown key.");
      if ((payload.exp ?? 0) - (payload.iat ?? 0) > 3600) return refuse("Token must be a short-lived token.");
      if (payload.scope !== SCOPE) return Response.json({ error: "invalid_scope" }, { status: 400 });
    } catch (error) {
      return refuse(`Invalid JWT: ${(error as Error).message}`);
    }
    const token = `ya29.${crypto.randomUUID()}`;
    live.add(token);
    fcm.signIns++;
    return Response.json({ access_token: token, expires_in: fcm.lifeSeconds, token_type: "Bearer" });
  };

  const send = async (request: Request): Promise<Response> => {
    const text = await request.text();
    if (fcm.isDown) {
      return new Response("<html><title>Error 404 (Not Found)!!1</title></html>", {
        status: 404,
        headers: { "content-type": "text/html" },
      });
    }
    const bearer = /^Bearer (.+)$/.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
    if (!live.has(bearer)) {
      return failure(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.");
    }
    if (!/^application\/json/.test(request.headers.get("content-type") ?? "")) {
      return failure(400, "INVALID_ARGUMENT", "No JSON");
    }
    const message = (JSON.parse(text) as { message: AcceptedPush }).message;
    const { token, data } = message;
    fcm.requested.push(token);
    await fcm.beforeAnswer();
    const reserved = Object.keys(data).find((key) =>
      key === "from" || key === "gcm" || key.startsWith("google")
    );
    if (reserved !== undefined) {
      return failure(400, "INVALID_ARGUMENT", `Invalid data payload key: ${reserved}`, [
        ...fcmError("INVALID_ARGUMENT"),
        violation("message.data", "Invalid data payload key"),
      ]);
    }
    if (text.length > 4096) return failure(400, "INVALID_ARGUMENT", "Request contains an invalid argument.");
    const kind = /^[a-z]+/.exec(token)?.[0] ?? "";
    const refusal = REFUSALS[kind];
    if (refusal) return failure(...refusal);
    const left = busyLeft.get(token) ?? fcm.busyFor;
    if ((kind === "quota" || kind === "busy") && left > 0) {
      busyLeft.set(token, left - 1);
      return kind === "quota"
        ? failure(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", fcmError("QUOTA_EXCEEDED"), fcm.retryAfter)
        : failure(503, "UNAVAILABLE", "Try again later.", fcmError("UNAVAILABLE"), fcm.retryAfter);
    }
    fcm.accepted.push(message);
    return Response.json({ name: `projects/${fcm.account.project_id}/messages/${crypto.randomUUID()}` });
  };

  const cut = new AbortController();
  const options = { hostname: "127.0.0.1", port: 0, signal: cut.signal, onListen: () => {} };
  const server = Deno.serve(options, async (request, info) => {
    fcm.connections.add(`${info.remoteAddr.port}`);
    const { pathname } = new URL(request.url);
    if (request.method === "POST" && pathname === "/token") return await signIn(request);
    if (request.method !== "POST" || pathname !== `/v1/projects/${fcm.account.project_id}/messages:send`) {
      return new Response("Not Found", { status: 404 });
    }
    fcm.maxConcurrent = Math.max(fcm.maxConcurrent, ++concurrent);
    try {
      return await send(request);
    } finally {
      concurrent--;
    }
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  const fcm = {
    url,
    account: {
      project_id: "steward-test",
      client_email: "push@steward-test.iam.gserviceaccount.com",
      private_key_id: "key-1",
      private_key: await exportPKCS8(privateKey),
      token_uri: `${url}/token`,
    },
    accepted: [] as AcceptedPush[],
    /** Device tokens of all requests, in order. */
    requested: [] as string[],
    /** The number of access tokens issued so far. */
    signIns: 0,
    maxConcurrent: 0,
    connections: new Set<string>(),
    /** Lifetime of an access token in seconds. */
    lifeSeconds: 3600,
    /** How often a token named busy… is rejected before it is accepted. */
    busyFor: Infinity,
    retryAfter: null as string | null,
    /** The private key no longer belongs to the account. */
    isKeyRevoked: false,
    /** The whole service is down: it answers 404 with HTML pages, as in real outages. */
    isDown: false,
    /** Awaited before each answer. */
    beforeAnswer: (): Promise<void> => Promise.resolve(),
    revokeAccessTokens() {
      live = new Set();
      busyLeft = new Map();
    },
    [Symbol.asyncDispose]: () => (cut.abort(), server.finished),
  };
  return fcm;
}
