import { z } from "zod";
import { channelNames } from "./catalogue.ts";

const expected = () => `expected one of ${channelNames.join(", ")}`;

/** The name of a channel. Documents list those of extensions too, because they are written after these are loaded. */
export const channelName = z.string({ error: expected }).refine((name) => channelNames.includes(name), {
  error: expected,
}).meta({ enum: channelNames });
