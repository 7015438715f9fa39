import type { PersonalData } from "../shared/personal_data.ts";

/** How the messages, pages and documents of a tenant look. They contain no data of persons. */
export const looksPersonalData: PersonalData = {
  area: "looks",
  tenant: {
    looks: (q, tenantId) =>
      q`
      select product_name, primary_colour, text_colour, footer, reply_to, logo_content_type, logo_width, logo_height,
        encode(logo, 'base64') as logo, updated_at
      from tenant_looks where tenant_id = ${tenantId}`,
  },
  async eraseTenant({ sql }, tenantId) {
    await sql`delete from tenant_looks where tenant_id = ${tenantId}`;
  },
};
