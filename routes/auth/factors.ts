import { z } from "zod";
import { addPasskey, confirmTotp, startPasskey, startTotp } from "../../domain/access/factors/add_factor.ts";
import { Factor, listOwnFactors, OwnFactors } from "../../domain/access/factors/factor_list.ts";
import { removeFactor, renewRecoveryCodes } from "../../domain/access/factors/remove_factor.ts";
import { afterStepUp, byPerson, forEnrolling, forSelf, signedIn } from "../../domain/rights/checks.ts";
import { requiredName } from "../../domain/shared/name.ts";
import { created, noContent, ok } from "../shared/answer.ts";
import { endpoint } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import {
  factorProof,
  NewPasskeyAnswerDto,
  PasskeyOptions,
  RecoveryCodesDto,
  totpCode,
} from "./factor_shapes.ts";

const path = "/api/v1/auth/factors";
const area = "Sign-in";
const own = forSelf(forEnrolling(byPerson(signedIn)));
const change = afterStepUp(own, "everyone");

/** The caller's second factors. They also serve sessions that lack a required second factor. */
export const factorRoutes = [
  endpoint({
    method: "get",
    path,
    alsoAt: ["/auth/factors"],
    area,
    id: "listOwnFactors",
    summary: "List the caller's second factors",
    access: own,
    answers: { 200: { description: "The factors, oldest first", schema: OwnFactors } },
    problems: [],
    run: async ({ db, caller }) => ok(await listOwnFactors(db, caller)),
  }),
  endpoint({
    method: "post",
    path: `${path}/totp`,
    alsoAt: ["/auth/factors/totp"],
    area,
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
  endpoint({
    method: "post",
    path: `${path}/totp/confirm`,
    alsoAt: ["/auth/factors/totp/confirm"],
    area,
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
  endpoint({
    method: "post",
    path: `${path}/passkey/options`,
    alsoAt: ["/auth/factors/passkey/options"],
    area,
    id: "startPasskey",
    summary: "Options to create a passkey, valid once and for five minutes",
    access: change,
    answers: { 200: { description: "For `navigator.credentials.create`", schema: PasskeyOptions } },
    problems: ["FACTOR_LIMIT_CONFLICT", "FACTOR_UNAVAILABLE"],
    run: async ({ platform, caller }) => ok(await startPasskey(platform, caller)),
  }),
  endpoint({
    method: "post",
    path: `${path}/passkey/verify`,
    alsoAt: ["/auth/factors/passkey/verify"],
    area,
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
  endpoint({
    method: "delete",
    path: `${path}/{id}`,
    alsoAt: ["/auth/factors/{id}"],
    area,
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
    async run({ platform, caller, params, body }) {
      await removeFactor(platform, caller, params.id, body);
      return noContent();
    },
  }),
  endpoint({
    method: "post",
    path: `${path}/recovery-codes`,
    alsoAt: ["/auth/factors/recovery-codes"],
    area,
    id: "renewRecoveryCodes",
    summary: "Replace the caller's recovery codes",
    access: change,
    creates: "a secret",
    answers: { 200: { description: "The new codes; the old ones no longer work", schema: RecoveryCodesDto } },
    problems: ["FACTOR_NOT_FOUND"],
    run: async ({ platform, caller }) => ok({ recoveryCodes: await renewRecoveryCodes(platform, caller) }),
  }),
] as const;
