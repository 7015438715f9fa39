/** The scripts that the image has: those for operators, but `backup` and `restore`, which need Postgres' client tools. */
export const SCRIPTS = [
  "access",
  "create-admin",
  "dead-letters",
  "import",
  "import-permissions",
  "jobs",
  "leave",
  "migrate",
  "reconcile-files",
  "rescan-files",
  "rotate-keys",
];

/**
 * The packages that stay in node_modules: native and WebAssembly modules, the script of the console, and what the extensions
 * in scripts/extensions import.
 */
export const UNBUNDLED = [
  "@hyzyla/pdfium",
  "@node-rs/argon2",
  "@node-rs/bcrypt",
  "@virustotal/yara-x",
  "htmx.org",
  "sharp",
  "standardwebhooks",
];
