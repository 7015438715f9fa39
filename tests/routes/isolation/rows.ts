import type * as isolation from "../../support/isolation.ts";
import type { Kind } from "./world.ts";

export type { Ask } from "../../support/isolation.ts";
export type Row = isolation.Row<Kind>;
export type Rows = isolation.Rows<Kind>;
