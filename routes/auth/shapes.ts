import { z } from "zod";
import { MAX_LIFE_DAYS, MAX_OVERLAP_SECONDS } from "../../domain/access/keys/key_record.ts";
import { KEY_SORTS } from "../../domain/access/keys/key_list.ts";
import { instant } from "../../domain/shared/shapes.ts";
import { listQuery, queryInteger } from "../shared/validation.ts";

/** An instant in answers: ISO 8601 in UTC. */
const timestamp = z.iso.datetime();

export const OwnTenantDto = z.object({
  id: z.guid(),
  name: z.string(),
  type: z.string(),
  isDefault: z.boolean(),
}).meta({ id: "OwnTenantDto" });

export const ProfileDto = z.object({
  user: z.object({
    id: z.guid(),
    email: z.string(),
    firstName: z.string(),
    lastName: z.string(),
    phoneNumber: z.string().nullable(),
    appIds: z.array(z.string()),
    roles: z.array(z.string()),
    lastLoginAt: timestamp.nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
  tenant: z.object({ id: z.guid(), name: z.string(), type: z.string() }).nullable(),
  permissions: z.array(z.string()),
  tenants: z.array(OwnTenantDto).meta({ description: "Tenants the user can switch to, the default first" }),
}).meta({
  id: "ProfileDto",
  description: "The signed-in user, the tenant of the token, and the permissions there",
});

/** Sent back with a sign-in, so that the service knows the device. */
export const deviceToken = z.string().max(200).nullish().transform((value) => value ?? null).meta({
  description: "`deviceToken` of this device's last sign-in; it goes on when others lock the account",
});

export const SignInDto = ProfileDto.extend({
  accessToken: z.string(),
  tokenType: z.literal("Bearer"),
  expiresIn: z.int().meta({ description: "Seconds until the access token expires" }),
  refreshToken: z.string(),
  refreshExpiresIn: z.int().meta({ description: "Seconds until the refresh token expires" }),
  deviceToken: z.string().optional().meta({
    description:
      "Secret of this device for 90 days, to send with its next sign-in; absent after a refresh or switch",
  }),
}).meta({ id: "SignInDto" });

export const OpenIdProviderDto = z.object({
  name: z.string().meta({ description: "As in the sign-in URL" }),
  displayName: z.string(),
  signInUrl: z.url(),
}).meta({ id: "OpenIdProviderDto" });

/** The list of API keys or service accounts. */
export const keysQuery = z.object({
  ...listQuery(KEY_SORTS),
  unusedForDays: queryInteger(1, 3650).optional().meta({
    description: "Neither used nor created in these days",
  }),
  expiresWithinDays: queryInteger(1, 3650).optional().meta({
    description: "Good now, and expired after these days",
  }),
});

/** Who made an API key, service account or OAuth client, whether it is revoked, and when it was used. */
export const keyRecord = {
  createdBy: z.guid(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  revokedAt: z.iso.datetime().nullable(),
  revokedBy: z.guid().nullable(),
  lastUsedAt: z.iso.datetime().nullable().meta({ description: "Exact to the minute" }),
};

/** The members that API keys and service accounts share. */
export const secretRecord = {
  id: z.guid(),
  name: z.string(),
  start: z.string().meta({ description: "The first characters of the secret, to identify it" }),
  permissions: z.array(z.string()),
  ...keyRecord,
  expiresAt: z.iso.datetime().nullable(),
  formerSecretUntil: z.iso.datetime().nullable().meta({
    description: "The secret before the last rotation stays good until then; null: it is refused",
  }),
  lastUsedIp: z.string().nullable(),
};

/** The end of a new API key or service account. */
export const newExpiry = instant.nullish().transform((value) => value ?? null)
  .meta({ description: `At most ${MAX_LIFE_DAYS} days ahead; absent: never` });

export const RotateKeyRequest = z.object({
  overlapSeconds: z.int().min(0).max(MAX_OVERLAP_SECONDS).default(0).meta({
    description: "How long the former secret stays good; a secret before it ends at once",
  }),
}).meta({ id: "RotateKeyRequest" });

export const JsonWebKeySet = z.object({
  keys: z.array(z.object({
    kty: z.string(),
    crv: z.string().optional(),
    x: z.string().optional(),
    n: z.string().optional(),
    e: z.string().optional(),
    kid: z.string(),
    alg: z.string(),
    use: z.string(),
  })),
}).meta({ id: "JsonWebKeySet" });
