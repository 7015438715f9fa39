import { z } from "zod";
import {
  EffectiveLooks,
  logoUrl,
  looksOf,
  type OwnLooks,
  ownLooks,
  readLogo,
  readOwnLooks,
  readTenantName,
} from "../../domain/looks/looks.ts";
import { MAX_LOGO_BYTES } from "../../domain/looks/logo_image.ts";
import { readVerifiedSenders } from "../../domain/looks/sender.ts";
import { logoNotFound, removeLogo, setLogo, updateLooks } from "../../domain/looks/write.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { anyone, inTenant } from "../../domain/rights/checks.ts";
import type { TenantCaller } from "../../domain/rights/caller.ts";
import { ok, okVersioned } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { mailAddress, requiredName, uuid } from "../../domain/shared/shapes.ts";

const endpoint = endpointsIn("Looks");

const path = "/api/v1/tenant-looks";
const write = inTenant("manage:settings");

const colour = z.string().toLowerCase().regex(/^#[0-9a-f]{6}$/, "expected a colour such as #1f4fd8")
  .meta({ example: "#1f4fd8" });
const CONTROL = /(?![\t\r\n])\p{Cc}/u;
const given = {
  productName: requiredName(100).nullish(),
  primaryColour: colour.nullish(),
  textColour: colour.nullish().describe(
    "Colour of text on the primary colour, with a contrast of at least 4.5:1; null: the service chooses",
  ),
  footer: z.string().trim().normalize("NFC").max(1_000)
    .refine((text) => !CONTROL.test(text), "expected no control characters except tabs and line breaks")
    .nullish().describe("Plain text, also of several lines"),
  replyTo: mailAddress.nullish().meta({ example: "help@example.com" }),
};

const TenantLooksDto = z.object({
  ...ownLooks,
  logo: z.object({
    url: z.string().describe("Public; another URL after every change of the logo"),
    contentType: z.enum(["image/png", "image/jpeg"]),
    width: z.int(),
    height: z.int(),
  }).nullable(),
  effective: EffectiveLooks.describe(
    "What is used: the tenant's values, and those of the service for the rest",
  ),
}).meta({ id: "TenantLooksDto" });

async function answer({ sql, config, baseUrl }: ServicePlatform, { tenantId }: TenantCaller, own: OwnLooks) {
  const { logo, version, ...rest } = own;
  const [senders, tenantName] = [
    await readVerifiedSenders(sql, tenantId),
    await readTenantName(sql, tenantId),
  ];
  const { logo: _, ...effective } = looksOf({ own, senders, tenantName }, config);
  const { contentType, width, height } = logo ?? {};
  const shown = logo && { url: logoUrl(baseUrl(), tenantId, logo), contentType, width, height };
  return okVersioned({ ...rest, logo: shown, effective }, version);
}

const answers = { 200: { etag: true, description: "The looks", schema: TenantLooksDto } } as const;

/** How the mails, hosted pages and documents of the tenant look. */
export const tenantLooksRoutes = [
  endpoint(`GET ${path}`, {
    id: "readTenantLooks",
    access: inTenant(),
    summary: "Read how the tenant's mails, hosted pages and documents look",
    answers,
    run: async ({ platform, db, caller }) =>
      await answer(platform, caller, await readOwnLooks(db, caller.tenantId)),
  }),
  endpoint(`PUT ${path}`, {
    id: "updateTenantLooks",
    access: write,
    summary: "Change the looks; omitted members keep their values, null restores the service's own",
    body: z.object(given).meta({ id: "UpdateTenantLooksRequest" }),
    answers,
    problems: ["PRECONDITION_FAILED"],
    run: async ({ platform, caller, body, call }) =>
      await answer(platform, caller, await updateLooks(platform, caller, body, call.ifMatch)),
  }),
  endpoint(`PUT ${path}/logo`, {
    id: "setTenantLogo",
    access: write,
    summary: "Set the logo: a PNG or JPEG image of at most 256 KiB and 2000 x 2000 pixels",
    content: { raw: ["image/png", "image/jpeg"] },
    bodyLimit: MAX_LOGO_BYTES,
    answers,
    problems: ["PRECONDITION_FAILED"],
    async run({ platform, db, caller, call }) {
      const content = await call.readContent(["image/png", "image/jpeg"]);
      return await answer(platform, caller, await setLogo(db, caller, content, call.ifMatch));
    },
  }),
  endpoint(`DELETE ${path}/logo`, {
    id: "removeTenantLogo",
    access: write,
    summary: "Remove the logo",
    answers,
    problems: ["TENANT_LOGO_NOT_FOUND", "PRECONDITION_FAILED"],
    run: async ({ platform, db, caller, call }) =>
      await answer(platform, caller, await removeLogo(db, caller, call.ifMatch)),
  }),
] as const;

/** The public logo of a tenant, for mails and hosted pages. */
export const logoRoutes = [
  endpoint("GET /looks/{tenantId}/logo", {
    id: "showTenantLogo",
    access: anyone,
    summary: "The logo of a tenant; mails and hosted pages show it",
    details: "A tenant that does not exist is answered like one without a logo.",
    params: z.object({ tenantId: uuid }),
    query: z.object({
      v: z.string().max(100).optional().describe("Tag of the logo: the answer may be cached for long"),
    }),
    answers: { 200: { description: "The image", contentType: "image/png", alsoAs: ["image/jpeg"] } },
    problems: ["TENANT_LOGO_NOT_FOUND"],
    async run({ db, params: { tenantId }, query: { v } }) {
      const logo = await readLogo(db, tenantId);
      if (!logo) throw logoNotFound();
      const { contentType, content, tag } = logo;
      return ok(content, {
        "content-type": contentType,
        "cache-control": v === tag ? "public, max-age=31536000, immutable" : "public, max-age=300",
        "cross-origin-resource-policy": "cross-origin",
      });
    },
  }),
] as const;
