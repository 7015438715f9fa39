import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import type { Caller } from "../../rights/caller.ts";
import { newSigningSecret } from "../../shared/secrets.ts";
import { lockJobType } from "./declared_types.ts";

/** Hours for which a replaced secret also signs. */
const OLD_SECRET_HOURS = 24;

/** Replaces the signing secret of the caller's own job type; the old one also signs for a day. @throws JOB_TYPE_NOT_FOUND */
export async function rotateSigningSecret(
  sql: Sql,
  caller: Caller,
  name: string,
): Promise<{ secret: string; oldSecretHours: number }> {
  return await transact(sql, async (tx) => {
    const { id } = await lockJobType(tx, caller, name, null);
    const secret = newSigningSecret();
    await tx`delete from job_type_old_secrets where job_type_id = ${id} and valid_until <= now()`;
    await tx`
      insert into job_type_old_secrets (job_type_id, secret, valid_until)
      select id, signing_secret, clock_timestamp() + make_interval(hours => ${OLD_SECRET_HOURS})
      from job_types where id = ${id} and signing_secret <> ''`;
    await tx`update job_types set signing_secret = ${secret} where id = ${id}`;
    await recordAudit(tx, caller, "jobType.rotate-secret", name);
    return { secret, oldSecretHours: OLD_SECRET_HOURS };
  });
}

/** The secrets that sign pushes of a job type now, the current one first. */
export async function readSigningSecrets(q: Sql, jobTypeId: string): Promise<string[]> {
  const rows = await q<{ secret: string }[]>`
    select signing_secret as secret, 'infinity'::timestamptz as valid_until from job_types where id = ${jobTypeId}
    union all
    select secret, valid_until from job_type_old_secrets where job_type_id = ${jobTypeId} and valid_until > now()
    order by valid_until desc`;
  return rows.map(({ secret }) => secret);
}
