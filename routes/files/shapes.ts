import { z } from "zod";
import { readVisibleFile } from "../../domain/files/file.ts";
import type { Caller } from "../../domain/rights/caller.ts";
import { isUuid } from "../../domain/shared/ids.ts";
import type { FindInput } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";

/** Members of every route that names a file. */
export const ofFile = {
  params: z.object({ id: uuid }),
  find: async ({ db, caller, params: { id = "" } }: FindInput<Caller>) => {
    if (isUuid(id)) await readVisibleFile(db, caller, id);
  },
};

export const FileDownload = z.object({ url: z.url(), expiresAt: z.iso.datetime() }).meta({
  id: "FileDownload",
});
