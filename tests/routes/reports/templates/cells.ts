import type { ReportKit } from "../../../../domain/reports/threads/registry.ts";

/** One row with every column type, and one with the caller's text. */
export default ({ boolean, date, decimal, defineReport, instant, integer, text, z }: ReportKit) =>
  defineReport({
    id: "cells",
    name: "Cells",
    description: "Every column type",
    version: 3,
    permissions: [],
    parameters: z.object({
      content: z.string().max(2_000).default("plain").meta({
        title: "Content",
        description: "What the text cell says",
      }),
      level: z.enum(["low", "high"]).default("low"),
      ratio: z.number().optional(),
      day: z.iso.date().optional(),
      owner: z.guid().optional(),
      since: z.iso.datetime().optional(),
      isFinal: z.boolean().optional(),
      only: z.literal("this").optional(),
    }),
    columns: {
      content: text("Content, and more"),
      count: integer("Count"),
      amount: decimal("Amount"),
      isGood: boolean("Good"),
      at: instant("At"),
      day: date("Day"),
    },
    chart: { title: "Counts", by: "content", sum: "count" },
    query: (sql, { parameters: { content } }) =>
      sql`
      select date '2026-02-28' as day, ${content}::text as content, -9007199254740993::bigint as count, -12.50::numeric as amount,
        true as is_good, timestamptz '2026-01-31 13:00:00.5+01' as at
      union all select null, null, null, null, null, null`,
  });
