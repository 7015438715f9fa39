import { z } from "zod";
import { enumName, queryBoolean, queryInteger } from "./validation.ts";

/** Pages beyond this are refused: no list is read that deep, and an offset must stay an integer. */
const LAST_PAGE = 10_000_000;

/** The shape of a page of `item`. */
export const pagedResultOf = <S extends z.ZodType>(item: S) =>
  z.object({
    items: z.array(item),
    totalCount: z.int(),
    pageNumber: z.int(),
    pageSize: z.int(),
    totalPages: z.int(),
    hasNext: z.boolean(),
    hasPrevious: z.boolean(),
  });

/** `page` and `pageSize`, with the given most rows a page. */
export const pageQuery = (maxPageSize = 100) => ({
  page: queryInteger(1, LAST_PAGE).default(1).meta({ default: 1 }),
  pageSize: queryInteger(1, maxPageSize).default(Math.min(20, maxPageSize)).meta({
    default: Math.min(20, maxPageSize),
  }),
});

export const sortDirection = enumName(["Ascending", "Descending"]);

/** The common list parameters (QueryParameters of the contract); `sortBy` takes one of `sortable`. */
export const listQuery = <const N extends readonly [string, ...string[]]>(sortable: N) => ({
  ...pageQuery(),
  sortBy: enumName(sortable).optional(),
  sortDirection: sortDirection.default("Ascending"),
  search: z.string().max(200).optional(),
  includeDeleted: queryBoolean.default(false),
});
