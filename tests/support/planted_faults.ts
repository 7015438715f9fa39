/** A block of a list of faults. */
export interface PlantedText {
  /** The lines before the changed text. */
  headings: string[];
  from: string;
  to: string;
}

/** Reads blocks with an empty line between them: headings, lines to be replaced after `- `, and others after `+ `. */
export const readPlantedFaults = (url: string): PlantedText[] =>
  Deno.readTextFileSync(new URL(url)).trim().split(/\n\n+/).map((block) => {
    const lines = block.split("\n");
    const after = (mark: string) =>
      lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(mark.length)).join("\n");
    return { headings: lines.filter((line) => !/^[-+] /.test(line)), from: after("- "), to: after("+ ") };
  });
