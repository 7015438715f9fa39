import { z } from "zod";
import { FACTOR_KINDS } from "../../domain/access/sign_in/factor_tokens.ts";

const encoded = z.string().regex(/^[A-Za-z0-9_-]+$/, "expected base64url").max(20_000);

/** Options in the JSON form of WebAuthn, for `parseCreationOptionsFromJSON` or `parseRequestOptionsFromJSON`. */
export const PasskeyOptions = z.looseObject({ challenge: z.string() }).meta({
  id: "PasskeyOptions",
  description: "For `PublicKeyCredential.parseCreationOptionsFromJSON` or `…parseRequestOptionsFromJSON`",
});

const choice = {
  factors: z.array(z.enum(FACTOR_KINDS)),
  passkeyOptions: PasskeyOptions.nullable().meta({ description: "null: the user has no passkey" }),
};
export const FactorChoiceDto = z.object(choice).meta({ id: "FactorChoiceDto" });
export const StepUpChoiceDto = z.object({
  ...choice,
  hasPassword: z.boolean().meta({ description: "True: a code also needs the password" }),
}).meta({ id: "StepUpChoiceDto" });

const credential = {
  id: encoded,
  rawId: encoded,
  type: z.literal("public-key"),
  authenticatorAttachment: z.enum(["platform", "cross-platform"]).nullish().transform((value) =>
    value ?? undefined
  ),
  clientExtensionResults: z.looseObject({}).default({}),
};

/** `PublicKeyCredential.toJSON()` of `navigator.credentials.get`. */
export const PasskeyAnswerDto = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: encoded,
    authenticatorData: encoded,
    signature: encoded,
    userHandle: encoded.nullish().transform((value) => value ?? undefined),
  }),
}).meta({ id: "PasskeyAnswer", description: "`toJSON()` of what `navigator.credentials.get` returns" });

/** `PublicKeyCredential.toJSON()` of `navigator.credentials.create`. */
export const NewPasskeyAnswerDto = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: encoded,
    attestationObject: encoded,
    authenticatorData: encoded.nullish().transform((value) => value ?? undefined),
    publicKey: encoded.nullish().transform((value) => value ?? undefined),
    publicKeyAlgorithm: z.int().nullish().transform((value) => value ?? undefined),
    transports: z.array(z.enum(["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"])).max(7)
      .nullish().transform((value) => value ?? undefined),
  }),
}).meta({ id: "NewPasskeyAnswer", description: "`toJSON()` of what `navigator.credentials.create` returns" });

export type PasskeyInput = z.input<typeof PasskeyAnswerDto>;
export type NewPasskeyInput = z.input<typeof NewPasskeyAnswerDto>;

const optional = <T extends z.ZodType>(shape: T) => shape.nullish().transform((value) => value ?? undefined);

export const totpCode = z.string().transform((text) => text.replaceAll(/\s/g, "")).pipe(
  z.string().regex(/^\d{6}$/, "expected six digits"),
);

/** Exactly one of these proves a second factor. */
export const factorProof = {
  code: optional(totpCode).meta({ description: "Of the authenticator app: six digits", example: "123456" }),
  recoveryCode: optional(z.string().trim().min(1).max(100)),
  passkey: optional(PasskeyAnswerDto),
};
export const password = optional(z.string().min(1).max(1024));

export const RecoveryCodesDto = z.object({
  recoveryCodes: z.array(z.string()).meta({ description: "Shown only in this answer; each works once" }),
}).meta({ id: "RecoveryCodesDto" });
