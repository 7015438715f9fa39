import { z } from "zod";
import { addPasskey, confirmTotp, startPasskey, startTotp } from "../../domain/access/factors/add_factor.ts";
import { Factor, listOwnFactors, OwnFactors } from "../../domain/access/factors/factor_list.ts";
import { removeFactor, renewRecoveryCodes } from "../../domain/access/factors/remove_factor.ts";
import { afterStepUp, byPerson, forEnrolling, forSelf, signedIn } from "../../domain/rights/checks.ts";
import { requiredName } from "../../domain/shared/name.ts";
import { created, noContentAfter, ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import {
  factorProof,
  NewPasskeyAnswerDto,
  PasskeyOptions,
  RecoveryCodesDto,
  totpCode,
} from "./factor_shapes.ts";

const endpoint = endpointsIn("Sign-in");

const path = "/api/v1/auth/factors";
const own = forSelf(forEnrolling(byPerson(signedIn)));
const change = afterStepUp(own, "everyone");

/** The caller's second factors. They also serve sessions that lack a required second factor. */
export const factorRoutes = [
  endpoint(`GET ${path}`, {
    alsoAt: ["/auth/factors"],
    id: "listOwnFactors",
    summary: "List the caller's second factors",
    access: own,
    answers: { 200: { description: "The factors, oldest first", schema: OwnFactors } },
    run: async ({ db, caller }) => ok(await listOwnFactors(db, caller)),
  }),
  endpoint(`POST ${path}/totp`, {
    alsoAt: ["/auth/factors/totp"],
    id: "startTotp",
    summary: "Prepare an authenticator app; it counts once its first code is confirmed",
    access: change,
    creates: "a secret",
    answers: {
      200: {
        description: "The secret, and the URL for the QR code; shown only in this answer",
        schema: z.object({ factorId: z.guid(), secret: z.string(), otpauthUrl: z.string() }).meta({
          id: "NewTotpDto",
        }),
      },
    },
    problems: ["FACTOR_ALREADY_EXISTS", "FACTOR_UNAVAILABLE"],
    run: async ({ platform, caller }) => ok(await startTotp(platform, caller)),
  }),
  endpoint(`POST ${path}/totp/confirm`, {
    alsoAt: ["/auth/factors/totp/confirm"],
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
    alsoAt: ["/auth/factors/passkey/options"],
    id: "startPasskey",
    summary: "Options to create a passkey, valid once and for five minutes",
    access: change,
    answers: { 200: { description: "For `navigator.credentials.create`", schema: PasskeyOptions } },
    problems: ["FACTOR_LIMIT_CONFLICT", "FACTOR_UNAVAILABLE"],
    run: async ({ platform, caller }) => ok(await startPasskey(platform, caller)),
  }),
  endpoint(`POST ${path}/passkey/verify`, {
    alsoAt: ["/auth/factors/passkey/verify"],
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
          recoveryCodes: z.array(z.string()).nullable().meta({
            description: "Shown only in this answer; null: the user already has some",
          }),
        }).meta({ id: "AddedPasskeyDto" }),
      },
    },
    problems: ["FACTOR_LIMIT_CONFLICT", "FACTOR_ALREADY_EXISTS", "FACTOR_UNAVAILABLE"],
    run: async ({ platform, caller, body }) => created(await addPasskey(platform, caller, body), path),
  }),
  endpoint(`DELETE ${path}/{id}`, {
    alsoAt: ["/auth/factors/{id}"],
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
    alsoAt: ["/auth/factors/recovery-codes"],
    id: "renewRecoveryCodes",
    summary: "Replace the caller's recovery codes",
    access: change,
    creates: "a secret",
    answers: { 200: { description: "The new codes; the old ones no longer work", schema: RecoveryCodesDto } },
    problems: ["FACTOR_NOT_FOUND"],
    run: async ({ platform, caller }) => ok({ recoveryCodes: await renewRecoveryCodes(platform, caller) }),
  }),
] as const;
