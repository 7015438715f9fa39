import { z } from "zod";
import { enumName } from "../../domain/shared/shapes.ts";
import { queryBoolean, queryInteger } from "./validation.ts";

/** The largest page number, so that offsets are exact integers. */
export const LAST_PAGE = 2_147_483_647;

/** The shape of a page with items of shape `item`. */
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

/** `page` and `pageSize`, with the maximum and the default page size. */
export const pageQuery = (maxPageSize = 100, usual = Math.min(20, maxPageSize)) => ({
  page: queryInteger(1, LAST_PAGE).default(1).meta({ default: 1 }),
  pageSize: queryInteger(1, maxPageSize).default(usual).meta({ default: usual }),
});

const sortDirection = enumName(["Ascending", "Descending"]);

/** The common list parameters. `sortBy` accepts the names in `sortable`. */
export const listQuery = <const N extends readonly [string, ...string[]]>(sortable: N) => ({
  ...pageQuery(),
  sortBy: enumName(sortable).optional(),
  sortDirection: sortDirection.default("Ascending"),
  search: z.string().max(200).optional(),
  includeDeleted: queryBoolean.default(false),
});
