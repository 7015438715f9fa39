/** One page of a list, as every list route answers it. */
export interface PagedResult<T> {
  items: T[];
  totalCount: number;
  pageNumber: number;
  pageSize: number;
  totalPages: number;
  hasNext: boolean;
  hasPrevious: boolean;
}

/** Which page is asked for; pages count from 1. */
export interface PageRequest {
  page: number;
  pageSize: number;
}

/** Rows before the page. */
export const offsetOf = ({ page, pageSize }: PageRequest): number => (page - 1) * pageSize;

/** Wraps `items` with the counts that follow from `totalCount`; no rows at all make `totalPages` 0. */
export function pagedResult<T>(
  items: T[],
  totalCount: number,
  { page, pageSize }: PageRequest,
): PagedResult<T> {
  const totalPages = Math.ceil(totalCount / pageSize);
  return {
    items,
    totalCount,
    pageNumber: page,
    pageSize,
    totalPages,
    hasNext: page < totalPages,
    hasPrevious: page > 1,
  };
}
