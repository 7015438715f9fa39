import { z } from "zod";
import { signInRequest } from "../../domain/access/sign_in/challenges.ts";
import {
  finishSignIn,
  readFactorChoice,
  signInByPasskey,
} from "../../domain/access/factors/factor_sign_in.ts";
import { readStepUpChoice, stepUp } from "../../domain/access/factors/step_up.ts";
import { anyone, byPerson, forEnrolling, forSelf, signedIn } from "../../domain/rights/checks.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { originOf, signedInAnswer, signInAnswers } from "./answers.ts";
import {
  FactorChoiceDto,
  factorProof,
  PasskeyAnswerDto,
  PasskeyOptions,
  password,
  StepUpChoiceDto,
} from "./factor_shapes.ts";
import { deviceToken } from "./shapes.ts";

const endpoint = endpointsIn("Sign-in");

const factorToken = z.string().min(1).max(200);

/** Sign-in with a second factor or a passkey alone, and the step-up of a session. */
export const factorSignInRoutes = [
  endpoint("POST /api/v1/auth/login/factor", {
    alsoAt: ["/auth/login/factor"],
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
    async run({ platform, db, body: { factorToken, deviceToken, ...proof }, call }) {
      const origin = originOf(call, deviceToken);
      return await signedInAnswer(db, await finishSignIn(platform, { factorToken, proof, origin }));
    },
  }),
  endpoint("POST /api/v1/auth/login/factor/options", {
    alsoAt: ["/auth/login/factor/options"],
    id: "readFactorChoice",
    summary: "The factors that can finish a sign-in, with new options for a passkey",
    access: anyone,
    body: z.object({ factorToken }).meta({ id: "FactorChoiceRequest" }),
    answers: { 200: { description: "The factors of the user", schema: FactorChoiceDto } },
    problems: ["FACTOR_TOKEN_INVALID_UNAUTHORIZED"],
    run: async ({ platform, body }) => ok(await readFactorChoice(platform, body.factorToken)),
  }),
  endpoint("POST /api/v1/auth/login/passkey/options", {
    alsoAt: ["/auth/login/passkey/options"],
    id: "startPasskeySignIn",
    summary: "Options to sign in by a passkey alone, valid once and for five minutes",
    access: anyone,
    answers: { 200: { description: "For `navigator.credentials.get`", schema: PasskeyOptions } },
    problems: ["FACTOR_UNAVAILABLE"],
    run: async ({ platform }) => ok(await signInRequest(platform)),
  }),
  endpoint("POST /api/v1/auth/login/passkey", {
    alsoAt: ["/auth/login/passkey"],
    id: "signInByPasskey",
    summary: "Sign in by a passkey alone; it counts as two factors",
    access: anyone,
    body: z.object({
      passkey: PasskeyAnswerDto,
      deviceToken,
      tenantId: uuid.nullish().transform((value) => value ?? null),
      global: z.boolean().nullish().transform((value) => value ?? false),
    }).meta({ id: "PasskeySignInRequest" }),
    answers: signInAnswers,
    problems: ["SECOND_FACTOR_INVALID_UNAUTHORIZED", "TENANT_FORBIDDEN", "FACTOR_UNAVAILABLE"],
    run: async ({ platform, db, body, call }) =>
      await signedInAnswer(
        db,
        await signInByPasskey(platform, { ...body, origin: originOf(call, body.deviceToken) }),
      ),
  }),
  endpoint("POST /api/v1/auth/step-up/options", {
    alsoAt: ["/auth/step-up/options"],
    id: "readStepUpChoice",
    summary: "How the caller can step up or remove a factor, with new options for a passkey",
    access: forSelf(forEnrolling(byPerson(signedIn))),
    answers: { 200: { description: "The factors of the caller", schema: StepUpChoiceDto } },
    run: async ({ platform, caller }) => ok(await readStepUpChoice(platform, caller)),
  }),
  endpoint("POST /api/v1/auth/step-up", {
    alsoAt: ["/auth/step-up"],
    id: "stepUp",
    summary: "Renew the sign-in of the session: password and code, or a passkey",
    details:
      "Without a second factor, the password alone is enough; without a password, the code alone. Routes that create " +
      "lasting credentials then accept the session for STEP_UP_MINUTES.",
    access: forSelf(forEnrolling(byPerson(signedIn))),
    body: z.object({ password, ...factorProof }).meta({ id: "StepUpRequest" }),
    answers: {
      200: {
        description: "The session counts as signed in now",
        schema: z.object({ authenticatedAt: z.iso.datetime(), amr: z.array(z.string()) }).meta({
          id: "StepUpDto",
        }),
      },
    },
    problems: ["ACCOUNT_LOCKED_UNAUTHORIZED", "FACTOR_UNAVAILABLE"],
    run: async ({ platform, caller, body }) => ok(await stepUp(platform, caller, body)),
  }),
] as const;
