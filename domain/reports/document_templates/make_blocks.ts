import type { Looks } from "../../looks/looks.ts";
import { TemplateFault } from "../rows.ts";
import { LayoutRefused } from "../writers/pdf/blocks/divide.ts";
import { writeBlocks } from "../writers/pdf/blocks/mod.ts";
import { blocksOf } from "./blocks.ts";
import { MarkupInvalid, parseMarkup } from "./markup.ts";

/** The input of a document of a document template. Plain values only, because it is sent to another thread. */
export interface BlockInput {
  /** The rendered body. */
  markup: string;
  title: string;
  language: string;
  requestedBy: string | null;
  generatedAt: Date;
  looks: Looks;
}

/** Draws a document. @throws TemplateFault for a mistake that shows only in the rendered body */
export function makeBlocks(input: BlockInput): Uint8Array<ArrayBuffer>[] {
  const { markup, title, language, requestedBy, generatedAt, looks } = input;
  try {
    const page = blocksOf(parseMarkup(markup));
    return writeBlocks({ page, title, author: requestedBy, language, looks, generatedAt });
  } catch (error) {
    if (error instanceof MarkupInvalid) throw new TemplateFault(`the rendered body, ${error.message}`);
    throw error instanceof LayoutRefused ? new TemplateFault(error.message) : error;
  }
}
