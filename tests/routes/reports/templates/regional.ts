import type { ReportKit } from "../../../../domain/reports/registry.ts";

/** One row with its region; a region called `zero` divides by zero. */
export default ({ defineReport, integer, text, z }: ReportKit) =>
  defineReport({
    id: "regional",
    name: "Regional",
    description: "One region's numbers",
    version: 1,
    permissions: [],
    parameters: z.object({
      region: z.string().min(1).max(40).meta({ title: "Region" }),
      top: z.int().min(1).max(10).default(3),
    }),
    columns: { region: text("Region"), n: integer("N") },
    query: (sql, { parameters: { region, top } }) =>
      sql`
      select ${region}::text as region, n / (${region}::text <> 'zero')::int as n
      from generate_series(1, ${top}::int) n`,
  });
