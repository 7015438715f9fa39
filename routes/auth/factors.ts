import { z } from "zod";
import {
  addPasskey,
  confirmTotp,
  Factor,
  listOwnFactors,
  OwnFactors,
  removeFactor,
  renewRecoveryCodes,
  startPasskey,
  startTotp,
} from "../../domain/access/factors/factors.ts";
import {
  afterStepUp,
  anyone,
  byPerson,
  forEnrolling,
  forSelf,
  signedIn,
} from "../../domain/rights/checks.ts";
import { created, noContentAfter, ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { orNull, orUndefined, requiredName, uuid, withDefault } from "../../domain/shared/shapes.ts";
import { FACTOR_KINDS, signInRequest } from "../../domain/access/sign_in/factor_tokens.ts";
import {
  finishSignIn,
  readFactorChoice,
  signInByPasskey,
} from "../../domain/access/factors/factor_sign_in.ts";
import { readStepUpChoice, stepUp } from "../../domain/access/factors/step_up.ts";
import { deviceToken, originOf, signedInAnswer, signInAnswers } from "./shapes.ts";

const encoded = z.string().regex(/^[A-Za-z0-9_-]+$/, "expected base64url").max(20_000);

/** Options in the JSON form of WebAuthn, for `parseCreationOptionsFromJSON` or `parseRequestOptionsFromJSON`. */
const PasskeyOptions = z.looseObject({ challenge: z.string() }).meta({
  id: "PasskeyOptions",
  description: "For `PublicKeyCredential.parseCreationOptionsFromJSON` or `…parseRequestOptionsFromJSON`",
});

const choice = {
  factors: z.array(z.enum(FACTOR_KINDS)),
  passkeyOptions: PasskeyOptions.nullable().describe("null: the user has no passkey"),
};
const FactorChoiceDto = z.object(choice).meta({ id: "FactorChoiceDto" });
const StepUpChoiceDto = z.object({
  ...choice,
  hasPassword: z.boolean().describe("True: a code also needs the password"),
}).meta({ id: "StepUpChoiceDto" });

const credential = {
  id: encoded,
  rawId: encoded,
  type: z.literal("public-key"),
  authenticatorAttachment: orUndefined(z.enum(["platform", "cross-platform"])),
  clientExtensionResults: z.looseObject({}).default({}),
};

/** `PublicKeyCredential.toJSON()` of `navigator.credentials.get`. */
const PasskeyAnswerDto = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: encoded,
    authenticatorData: encoded,
    signature: encoded,
    userHandle: orUndefined(encoded),
  }),
}).meta({ id: "PasskeyAnswer", description: "`toJSON()` of what `navigator.credentials.get` returns" });

const TRANSPORTS = ["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"] as const;

/** `PublicKeyCredential.toJSON()` of `navigator.credentials.create`. */
const NewPasskeyAnswerDto = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: encoded,
    attestationObject: encoded,
    authenticatorData: orUndefined(encoded),
    publicKey: orUndefined(encoded),
    publicKeyAlgorithm: orUndefined(z.int()),
    transports: orUndefined(z.array(z.enum(TRANSPORTS)).max(7)),
  }),
}).meta({ id: "NewPasskeyAnswer", description: "`toJSON()` of what `navigator.credentials.create` returns" });

export type PasskeyInput = z.input<typeof PasskeyAnswerDto>;
export type NewPasskeyInput = z.input<typeof NewPasskeyAnswerDto>;

const totpCode = z.string().transform((text) => text.replaceAll(/\s/g, "")).pipe(
  z.string().regex(/^\d{6}$/, "expected six digits"),
);

/** Exactly one of these proves a second factor. */
export const factorProof = {
  code: orUndefined(totpCode).meta({
    description: "Of the authenticator app: six digits",
    example: "123456",
  }),
  recoveryCode: orUndefined(z.string().trim().min(1).max(100)),
  passkey: orUndefined(PasskeyAnswerDto),
};
const password = orUndefined(z.string().min(1).max(1024));

const RecoveryCodesDto = z.object({
  recoveryCodes: z.array(z.string()).describe("Shown only in this answer; each works once"),
}).meta({ id: "RecoveryCodesDto" });

const endpoint = endpointsIn("Sign-in", "/auth");

const path = "/api/v1/auth/factors";
const own = forSelf(forEnrolling(byPerson(signedIn)));
const change = afterStepUp(own, "everyone");

/** The caller's second factors. They also serve sessions that lack a required second factor. */
export const factorRoutes = [
  endpoint(`GET ${path}`, {
    id: "listOwnFactors",
    summary: "List the caller's second factors",
    access: own,
    answers: { 200: { description: "The factors, oldest first", schema: OwnFactors } },
    run: async ({ db, caller }) => ok(await listOwnFactors(db, caller)),
  }),
  endpoint(`POST ${path}/totp`, {
    id: "startTotp",
    summary: "Prepare an authenticator app; it counts once its first code is confirmed",
    access: change,
    creates: "a secret",
    answers: {
      200: {
        description: "The secret, and the URL for the QR code; shown only in this answer",
        schema: z.object({ factorId: z.guid(), secret: z.string(), otpauthUrl: z.string() })
          .meta({ id: "NewTotpDto" }),
      },
    },
    problems: ["FACTOR_ALREADY_EXISTS", "FACTOR_UNAVAILABLE"],
    run: async ({ platform, caller }) => ok(await startTotp(platform, caller)),
  }),
  endpoint(`POST ${path}/totp/confirm`, {
    id: "confirmTotp",
    summary: "Confirm an authenticator app with its first code; replaces the recovery codes",
    access: change,
    creates: "a secret",
    body: z.object({ factorId: uuid, code: totpCode }).meta({ id: "ConfirmTotpRequest" }),
    answers: { 200: { description: "The app is a second factor now", schema: RecoveryCodesDto } },
    problems: ["FACTOR_NOT_FOUND", "FACTOR_ALREADY_EXISTS", "FACTOR_UNAVAILABLE"],
    run: async ({ platform, caller, body }) =>
      ok({ recoveryCodes: await confirmTotp(platform, caller, body) }),
  }),
  endpoint(`POST ${path}/passkey/options`, {
    id: "startPasskey",
    summary: "Options to create a passkey, valid once and for five minutes",
    access: change,
    answers: { 200: { description: "For `navigator.credentials.create`", schema: PasskeyOptions } },
    problems: ["FACTOR_LIMIT_CONFLICT", "FACTOR_UNAVAILABLE"],
    run: async ({ platform, caller }) => ok(await startPasskey(platform, caller)),
  }),
  endpoint(`POST ${path}/passkey/verify`, {
    id: "addPasskey",
    summary: "Add a passkey; the answer has recovery codes if the user had none",
    access: change,
    creates: "a secret",
    body: z.object({
      name: requiredName(100).default("Passkey"),
      passkey: NewPasskeyAnswerDto,
    }).meta({ id: "AddPasskeyRequest" }),
    answers: {
      201: {
        description: "The passkey is a second factor now",
        schema: z.object({
          factor: Factor,
          recoveryCodes: z.array(z.string()).nullable().describe(
            "Shown only in this answer; null: the user already has some",
          ),
        }).meta({ id: "AddedPasskeyDto" }),
      },
    },
    problems: ["FACTOR_LIMIT_CONFLICT", "FACTOR_ALREADY_EXISTS", "FACTOR_UNAVAILABLE"],
    run: async ({ platform, caller, body }) => created(await addPasskey(platform, caller, body), path),
  }),
  endpoint(`DELETE ${path}/{id}`, {
    id: "removeFactor",
    summary:
      "Remove one of the caller's factors, after a proof by a factor in the body or by a recent step-up",
    details:
      "The password alone is never enough. With the last factor, the recovery codes are removed too. " +
      "Options for a passkey: POST /api/v1/auth/step-up/options.",
    access: own,
    params: z.object({ id: uuid }),
    body: z.object(factorProof).meta({ id: "RemoveFactorRequest" }),
    bodyOptional: true,
    answers: { 204: { description: "Removed" } },
    problems: [
      "FACTOR_NOT_FOUND",
      "STEP_UP_REQUIRED_FORBIDDEN",
      "ACCOUNT_LOCKED_UNAUTHORIZED",
      "FACTOR_UNAVAILABLE",
    ],
    run: ({ platform, caller, params, body }) =>
      noContentAfter(removeFactor(platform, caller, params.id, body)),
  }),
  endpoint(`POST ${path}/recovery-codes`, {
    id: "renewRecoveryCodes",
    summary: "Replace the caller's recovery codes",
    access: change,
    creates: "a secret",
    answers: { 200: { description: "The new codes; the old ones no longer work", schema: RecoveryCodesDto } },
    problems: ["FACTOR_NOT_FOUND"],
    run: async ({ platform, caller }) => ok({ recoveryCodes: await renewRecoveryCodes(platform, caller) }),
  }),
] as const;

const factorToken = z.string().min(1).max(200);

/** Sign-in with a second factor or a passkey alone, and the step-up of a session. */
export const factorSignInRoutes = [
  endpoint("POST /api/v1/auth/login/factor", {
    id: "finishSignIn",
    summary: "Finish a sign-in that answered SECOND_FACTOR_REQUIRED_UNAUTHORIZED, with exactly one proof",
    access: anyone,
    body: z.object({ factorToken, ...factorProof, deviceToken }).meta({ id: "FinishSignInRequest" }),
    answers: signInAnswers,
    problems: [
      "FACTOR_TOKEN_INVALID_UNAUTHORIZED",
      "SECOND_FACTOR_INVALID_UNAUTHORIZED",
      "ACCOUNT_LOCKED_UNAUTHORIZED",
      "TENANT_FORBIDDEN",
      "FACTOR_UNAVAILABLE",
    ],
    run({ platform, db, body: { factorToken, deviceToken, ...proof }, call }) {
      const origin = originOf(call, deviceToken);
      return signedInAnswer(db, finishSignIn(platform, { factorToken, proof, origin }));
    },
  }),
  endpoint("POST /api/v1/auth/login/factor/options", {
    id: "readFactorChoice",
    summary: "The factors that can finish a sign-in, with new options for a passkey",
    access: anyone,
    body: z.object({ factorToken }).meta({ id: "FactorChoiceRequest" }),
    answers: { 200: { description: "The factors of the user", schema: FactorChoiceDto } },
    problems: ["FACTOR_TOKEN_INVALID_UNAUTHORIZED"],
    run: async ({ platform, body }) => ok(await readFactorChoice(platform, body.factorToken)),
  }),
  endpoint("POST /api/v1/auth/login/passkey/options", {
    id: "startPasskeySignIn",
    summary: "Options to sign in by a passkey alone, valid once and for five minutes",
    access: anyone,
    answers: { 200: { description: "For `navigator.credentials.get`", schema: PasskeyOptions } },
    problems: ["FACTOR_UNAVAILABLE"],
    run: async ({ platform }) => ok(await signInRequest(platform)),
  }),
  endpoint("POST /api/v1/auth/login/passkey", {
    id: "signInByPasskey",
    summary: "Sign in by a passkey alone; it counts as two factors",
    access: anyone,
    body: z.object({
      passkey: PasskeyAnswerDto,
      deviceToken,
      tenantId: orNull(uuid),
      global: withDefault(z.boolean(), false),
    }).meta({ id: "PasskeySignInRequest" }),
    answers: signInAnswers,
    problems: ["SECOND_FACTOR_INVALID_UNAUTHORIZED", "TENANT_FORBIDDEN", "FACTOR_UNAVAILABLE"],
    run({ platform, db, body, call }) {
      const origin = originOf(call, body.deviceToken);
      return signedInAnswer(db, signInByPasskey(platform, { ...body, origin }));
    },
  }),
  endpoint("POST /api/v1/auth/step-up/options", {
    id: "readStepUpChoice",
    summary: "How the caller can step up or remove a factor, with new options for a passkey",
    access: own,
    answers: { 200: { description: "The factors of the caller", schema: StepUpChoiceDto } },
    run: async ({ platform, caller }) => ok(await readStepUpChoice(platform, caller)),
  }),
  endpoint("POST /api/v1/auth/step-up", {
    id: "stepUp",
    summary: "Renew the sign-in of the session: password and code, or a passkey",
    details:
      "Without a second factor, the password alone is enough; without a password, the code alone. Routes that create " +
      "lasting credentials then accept the session for STEP_UP_MINUTES.",
    access: own,
    body: z.object({ password, ...factorProof }).meta({ id: "StepUpRequest" }),
    answers: {
      200: {
        description: "The session counts as signed in now",
        schema: z.object({ authenticatedAt: z.iso.datetime(), amr: z.array(z.string()) })
          .meta({ id: "StepUpDto" }),
      },
    },
    problems: ["ACCOUNT_LOCKED_UNAUTHORIZED", "FACTOR_UNAVAILABLE"],
    run: async ({ platform, caller, body }) => ok(await stepUp(platform, caller, body)),
  }),
] as const;
