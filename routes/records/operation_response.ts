import { z } from "zod";
import type { PagedResult } from "../../domain/shared/paging.ts";

const QueryMeta = z.object({
  page: z.int(),
  pageSize: z.int(),
  totalCount: z.int(),
  totalPages: z.int(),
  hasNext: z.boolean(),
  hasPrevious: z.boolean(),
  sortBy: z.string().nullable(),
  sortDirection: z.enum(["Ascending", "Descending"]),
}).meta({ id: "QueryMeta" });

/** The shape of a record's additional lists: `OperationResponse`. */
export const operationResponseOf = (data: z.ZodType) =>
  z.object({
    success: z.boolean(),
    data,
    meta: QueryMeta,
    message: z.string().nullable(),
  });

/** The answer of an additional list. */
export function operationList<T>(
  { items, pageNumber, ...counts }: PagedResult<T>,
  sort: { sortBy: string | null; sortDirection: "Ascending" | "Descending" },
) {
  return { success: true, data: items, meta: { page: pageNumber, ...counts, ...sort }, message: null };
}
