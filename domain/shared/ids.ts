import { v7 } from "uuid";

/** A new UUIDv7: ordered by time of making, so that primary keys stay local and `order by id` is order of creation. */
export const newId = (): string => v7();
