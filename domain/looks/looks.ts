import { z } from "zod";
import { parseMailFrom } from "../../infra/mail/mail_address.ts";
import { isTransaction, type Sql } from "../../infra/postgres/postgres.ts";
import type { Platform } from "../shared/platform.ts";
import { cacheOfDatabase } from "../shared/ttl_cache.ts";
import { readableTextOn } from "./colours.ts";
import { readVerifiedSenders, type VerifiedSender } from "./sender.ts";

/** Lifetime of cached looks. If the notification of a change is lost, another instance misses it for at most this time. */
const TTL_MS = 10_000;
const MAX_ENTRIES = 2_000;
/** Shown where neither a tenant nor the operator has named the product. */
const SERVICE_NAME = "Steward";

export interface LogoFacts {
  contentType: "image/png" | "image/jpeg";
  width: number;
  height: number;
  /** Identifies the content, for URLs that may be cached for long. */
  tag: string;
}

export const EffectiveLooks = z.object({
  productName: z.string(),
  // Background of buttons and bars. On white it may be unreadable as text: see `readableShade`.
  primaryColour: z.string(),
  // Colour of text on `primaryColour`; always readable there.
  textColour: z.string(),
  // Plain text with lines separated by `\n`; empty without a footer.
  footer: z.string(),
  replyTo: z.string().nullable(),
  senderName: z.string().nullable(),
  senderAddress: z.string(),
});

/** How the messages and pages of a tenant look. Colours are `#rrggbb`. */
export interface PageLooks extends z.output<typeof EffectiveLooks> {
  logo: LogoFacts | null;
}

/** Looks with the content of the logo, for documents. */
export type Looks = Omit<PageLooks, "logo"> & { logo: LogoFacts & { content: Uint8Array } | null };

/** The values that a tenant can set; null: the value of the configuration. */
export const ownLooks = {
  productName: z.string().nullable(),
  primaryColour: z.string().nullable(),
  textColour: z.string().nullable(),
  footer: z.string().nullable(),
  replyTo: z.string().nullable(),
};
export type OwnLooks = { [M in keyof typeof ownLooks]: string | null } & {
  logo: LogoFacts | null;
  version: number;
};

const NONE: OwnLooks = {
  productName: null,
  primaryColour: null,
  textColour: null,
  footer: null,
  replyTo: null,
  logo: null,
  version: 0,
};

/** The values that a tenant has set, its verified senders, and its own name. */
interface StoredLooks {
  own: OwnLooks;
  senders: VerifiedSender[];
  /** Null: the looks of the service itself. */
  tenantName: string | null;
}

const cacheOf = cacheOfDatabase<StoredLooks>("looks", { ttlMs: TTL_MS, maxEntries: MAX_ENTRIES });

/** Reads the values that a tenant has set. @param lock such as `for update` */
export async function readOwnLooks(q: Sql, tenantId: string, lock = q``): Promise<OwnLooks> {
  const [row] = await q<OwnLooks[]>`
    select product_name, primary_colour, text_colour, footer, reply_to, version,
      case when logo_tag is not null then json_build_object('contentType', logo_content_type,
        'width', logo_width, 'height', logo_height, 'tag', logo_tag) end as logo
    from tenant_looks where tenant_id = ${tenantId} ${lock}`;
  return row ?? NONE;
}

/** Looks and senders as stored. They are cached, because every mail needs them; a transaction reads them itself. */
export async function readStoredLooks(q: Sql, tenantId: string | null): Promise<StoredLooks> {
  if (tenantId === null) return { own: NONE, senders: [], tenantName: null };
  const read = async () => {
    const [own, senders, tenantName] = await Promise.all([
      readOwnLooks(q, tenantId),
      readVerifiedSenders(q, tenantId),
      readTenantName(q, tenantId),
    ]);
    return { own, senders, tenantName };
  };
  return isTransaction(q) ? await read() : await cacheOf(q).read(tenantId, read);
}

export async function readTenantName(q: Sql, tenantId: string): Promise<string | null> {
  const [tenant] = await q<{ name: string }[]>`select name from tenants where id = ${tenantId}`;
  return tenant?.name ?? null;
}

/**
 * The looks of a tenant without the content of its logo.
 * @param tenantId null: the looks of the service itself, from the configuration
 */
export async function readPageLooks(
  p: Pick<Platform, "sql" | "config">,
  tenantId: string | null,
): Promise<PageLooks> {
  return looksOf(await readStoredLooks(p.sql, tenantId), p.config);
}

/** The looks of a tenant with the content of its logo, for PDFs and other documents. */
export async function readLooks(
  p: Pick<Platform, "sql" | "config">,
  tenantId: string | null,
): Promise<Looks> {
  const looks = await readPageLooks(p, tenantId);
  const logo = looks.logo && tenantId !== null ? await readLogo(p.sql, tenantId) : null;
  return { ...looks, logo };
}

/** The current logo of a tenant; null if it has none. */
export async function readLogo(q: Sql, tenantId: string): Promise<Looks["logo"]> {
  const [row] = await q<NonNullable<Looks["logo"]>[]>`
    select logo_content_type as content_type, logo_width as width, logo_height as height, logo_tag as tag,
      logo as content
    from tenant_looks where tenant_id = ${tenantId} and logo is not null`;
  return row ?? null;
}

/**
 * The looks in effect: the values that the tenant has set, and the configuration for all others. Without a configured
 * product name a tenant shows its own name.
 */
export function looksOf({ own, senders, tenantName }: StoredLooks, config: Platform["config"]): PageLooks {
  const service = parseMailFrom(config.MAIL_FROM);
  const sender = senders.find(({ isDefault }) => isDefault);
  const primaryColour = own.primaryColour ?? config.PRIMARY_COLOUR;
  const productName = own.productName ?? config.PRODUCT_NAME ?? tenantName ?? SERVICE_NAME;
  return {
    productName,
    logo: own.logo,
    primaryColour,
    textColour: own.textColour ?? readableTextOn(primaryColour),
    footer: own.footer ?? "",
    replyTo: own.replyTo,
    senderName: sender?.name ?? own.productName ?? service.displayName ?? productName,
    senderAddress: sender?.address ?? service.address,
  };
}

/** Public URL of a tenant's logo. It changes with the logo, so that it can be cached for long. */
export const logoUrl = (baseUrl: string, tenantId: string, { tag }: Pick<LogoFacts, "tag">): string =>
  `${baseUrl}/looks/${tenantId}/logo?v=${tag}`;
