import { mailKey } from "../../infra/mail/mail_address.ts";
import { announceChange } from "../../infra/postgres/changes.ts";
import { transact } from "../../infra/postgres/postgres.ts";
import { ofTenant, type PersonalData } from "../shared/personal_data.ts";

/** Looks and senders of a tenant. A sender address may be that of a person. */
export const looksPersonalData: PersonalData = {
  area: "looks",
  user: {
    senders: (q, { addresses, tenantId }) =>
      q`select tenant_id, address, name, status, created_at from notification_senders
      where address_key = any(${addresses.map(mailKey)}::text[]) and ${ofTenant(q, tenantId)} order by id`,
  },
  async eraseUsers({ sql }, { addresses, beforeId }) {
    await transact(sql, async (tx) => {
      const deleted = await tx<{ tenantId: string }[]>`
        delete from notification_senders where address_key = any(${addresses.map(mailKey)}::text[])
          and id < ${beforeId} returning tenant_id`;
      if (deleted.length > 0) announceChange(tx, { topic: "looks", ids: deleted.map((row) => row.tenantId) });
    });
  },
  tenant: {
    senders: (q, tenantId) =>
      q`select id, address, name, method, status, is_default, verified_at, created_at from notification_senders
      where tenant_id = ${tenantId} order by id`,
    looks: (q, tenantId) =>
      q`select product_name, primary_colour, text_colour, footer, reply_to, logo_content_type, logo_width, logo_height,
        encode(logo, 'base64') as logo, updated_at
      from tenant_looks where tenant_id = ${tenantId}`,
  },
  async eraseTenant({ sql }, tenantId) {
    await sql`delete from notification_senders where tenant_id = ${tenantId}`;
    await sql`delete from tenant_looks where tenant_id = ${tenantId}`;
  },
};
