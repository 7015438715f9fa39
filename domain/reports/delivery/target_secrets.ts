import { createSecretBox, type SecretBox } from "../../../infra/encryption.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import type { TargetPlace } from "./target_checks.ts";
import type { TargetKind } from "./target_shapes.ts";

type Keys = Pick<Platform["config"], "TARGET_KEYS">;

/** A target with its decrypted secret: for deliveries only. */
export type OpenTarget = TargetPlace & { id: string; name: string; kind: TargetKind; secret: string };

/** @throws REPORT_TARGET_UNAVAILABLE without TARGET_KEYS */
function secretBox({ TARGET_KEYS }: Keys): SecretBox {
  if (TARGET_KEYS) return createSecretBox(TARGET_KEYS);
  throw problem("REPORT_TARGET_UNAVAILABLE", "Report targets are off: the service has no TARGET_KEYS.");
}

/** Encrypts the secret of a target for storage. @throws REPORT_TARGET_UNAVAILABLE */
export const sealSecret = (keys: Keys, targetId: string, secret: string): string =>
  secretBox(keys).encrypt(new TextEncoder().encode(secret), targetId);

/** Reads a target of the tenant with its secret; null if there is none. @throws REPORT_TARGET_UNAVAILABLE, DecryptionFailed */
export async function openTarget(
  { config }: Pick<Platform, "config">,
  q: Sql,
  tenantId: string | null,
  id: string,
): Promise<OpenTarget | null> {
  const [row] = await q<OpenTarget[]>`
    select id, name, kind, endpoint, region, bucket, prefix, path_style, access_key_id, secret from report_targets
    where id = ${id} and tenant_id = ${tenantId}`;
  if (!row) return null;
  return { ...row, secret: new TextDecoder().decode(secretBox(config).decrypt(row.secret, id)) };
}
