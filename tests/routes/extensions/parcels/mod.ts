// An extension for tests: a record whose members have formats, cards that fail, and pages of free HTML.
import { defineExtension, defineRecord, type ExtensionCard, html, unsafeHtml, z } from "@steward/steward";

const parcels = defineRecord({
  one: "parcel",
  many: "parcels",
  area: "Parcels",
  managedBy: "write:parcels",
  table: "parcels.parcels",
  members: {
    name: { shape: z.string().min(1).max(200) },
    price: { shape: z.number(), format: { currency: "currency" } },
    currency: { shape: z.string().max(3) },
    site: { shape: z.string().max(200), format: "link" },
    contact: { shape: z.string().max(200), format: "mail" },
    tax: { shape: z.number(), set: "once", format: "percent" },
    bytes: { shape: z.int(), set: "once", format: "bytes" },
    took: { shape: z.int(), set: "once", format: "duration" },
    weight: { shape: z.number(), set: "once", format: "number" },
  },
});

const card = (title: string, read: ExtensionCard["read"], permission = "write:parcels"): ExtensionCard => ({
  title: { en: title, pt: title },
  permission,
  read,
});

export default defineExtension({
  name: "parcels",
  permissions: [
    { code: "write:parcels", category: "Parcels", description: "Create and change parcels" },
    { code: "see:secret-parcels", category: "Parcels", description: "See the secret card" },
  ],
  tenantRoles: { Admin: ["write:parcels"] },
  resources: [parcels],
  migrations: new URL("./migrations/", import.meta.url),
  overview: [
    card("Slow card", () => new Promise(() => {})),
    card("Failing card", () => Promise.reject(new Error("no connection to the scales"))),
    card("Malformed card", () => Promise.resolve({ numbers: 7 } as never)),
    card("Foreign card", async ({ call }) => ({ numbers: await call("listUsers") })),
    card("Secret card", () => Promise.resolve({}), "see:secret-parcels"),
    card("Hostile card", () =>
      Promise.resolve({
        numbers: [
          { label: "<script>label</script>", value: "<script>value</script>", href: "javascript:alert(1)" },
          { label: "Weight", value: 1234.5, href: "parcels?search=x" },
        ],
      })),
  ],
  pages: [
    {
      path: "names/{name}",
      title: { en: "Names", pt: "Nomes" },
      permission: "write:parcels",
      render: ({ params, query }) =>
        html`<p title="${query.get("q") ?? ""}">${params.name}: ${[query.get("q") ?? "", null, 7]}</p>
          ${unsafeHtml('<b id="raw">raw</b>')}`,
    },
    {
      path: "text",
      title: { en: "Text", pt: "Texto" },
      permission: "write:parcels",
      render: () => "<script>text</script>" as never,
    },
  ],
});
