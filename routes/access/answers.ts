import type { Versioned } from "../../domain/shared/version.ts";
import { type Answer, okVersioned } from "../shared/answer.ts";

/** 200 with the value and the ETag of its version. */
export const versionedAnswer = ({ value, version }: Versioned<unknown>): Answer =>
  okVersioned(value, version);
