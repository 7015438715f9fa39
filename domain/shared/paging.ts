/** One page of a list; the answer of all list routes. */
export interface PagedResult<T> {
  items: T[];
  totalCount: number;
  pageNumber: number;
  pageSize: number;
  totalPages: number;
  hasNext: boolean;
  hasPrevious: boolean;
}

/** The requested page; the first page is 1. */
export interface PageRequest {
  page: number;
  pageSize: number;
}

/** Number of rows before the page. */
export const offsetOf = ({ page, pageSize }: PageRequest): number => (page - 1) * pageSize;

/** Builds a page of `items`. Without any rows, `totalPages` is 0. */
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
