/** Why a file cannot be imported at all. The import fails and writes nothing. */
export class ImportMistake extends Error {
  override name = "ImportMistake";
}

/** Another run of the same import has continued it, so this run must stop. */
export class ImportSuperseded extends Error {
  override name = "ImportSuperseded";
}
